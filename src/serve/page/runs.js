// The list: what state each run is in, how far it is, how fast, and how long it will take.
'use strict';
{
  const columns = [
    ['environment', 'wide', (run) => run.environment],
    ['state', '', (run) => run.state],
    ['steps', 'number', (run) => formatCount(run.env_steps)],
    ['updates', 'number wide', (run) => formatCount(run.updates)],
    ['return', 'number', (run) => formatNumber(run.mean_return)],
    ['final', 'number wide', (run) => formatNumber(run.final_return)],
    ['goal', 'number wide', (run) => formatNumber(run.goal)],
    ['steps/s', 'number wide', (run) => isNumber(run.rate) ? formatCount(run.rate) : '–'],
    ['took', 'number wide', (run) => formatTime(run.seconds)],
    ['left', 'number', (run) => formatTime(run.left)],
  ];
  let rows, body;
  const cell = (name, text) => make('td', {class: name}, text);
  const fill = (run) => {
    const row = rows[run.run];
    columns.forEach(([, , text], i) => setText(row.cells[i], text(run)));
    row.cells[1].className = run.state;
    row.progress.style.width = `${100 * Math.min(1, run.most_steps > 0 ? run.env_steps / run.most_steps : run.most_updates > 0 ? run.updates / run.most_updates : 0)}%`;
  };
  const addRow = (run) => {
    const cells = columns.map(([, name]) => cell(name, ''));
    const progress = make('div', {class: 'done'});
    const head = make('th', {scope: 'row'}, make('a', {href: `#/curves?runs=${run.run}`}, run.name), make('div', {class: 'bar', 'aria-hidden': 'true'}, progress));
    rows[run.run] = {cells, progress};
    body.append(make('tr', {}, head, cells));
  };
  const update = () => {
    for (const run of app.runs) {
      if (!rows[run.run]) addRow(run);
      fill(run);
    }
  };
  app.views.push({name: 'runs', title: 'Runs', show: (main) => {
    rows = [];
    body = make('tbody');
    const heads = [make('th', {scope: 'col'}, 'run'), columns.map(([text, name]) => make('th', {scope: 'col', class: name}, text))];
    main.append(make('h2', {}, 'Runs'), make('div', {class: 'scroll'}, make('table', {}, make('caption', {class: 'hidden'}, 'The runs that are served'), make('thead', {}, make('tr', {}, heads)), body)));
    if (!app.runs.length) main.append(make('p', {class: 'soft'}, 'There is no run in these folders yet; one that begins appears here.'));
    update();
  }, update});
}
