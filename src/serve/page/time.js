// Where the time goes: what share of the wall time a run acts, learns, reanalyses, evaluates, saves, and does all else.
'use strict';
{
  const MOST = 120; // points of the chart
  const parts = [['acting', 0], ['learning', 2], ['reanalysis', 4], ['evaluation', 3], ['saving', 1], ['other', 7]];
  const overs = ['seconds', 'env_steps', 'updates'];
  let data, chart, place, key, say, table, numbers, timer;
  const overOf = () => overs.find((name) => name === readAddress().values.get('over')) || overs[0];
  const sum = (values) => values.reduce((all, value) => all + value, 0);
  const zoom = zoomOf(() => chart);

  // Rows [x, seconds of each part] of what is loaded; older runs have none. Over seconds, x is the end of what the row's parts took.
  const rowsOf = ([x, ...times]) => {
    const rows = x.map((at, i) => [at, ...times.map((column) => column[i])]).filter((row) => row.every(isNumber));
    let end = 0;
    return overOf() === 'seconds' ? rows.map(([, ...seconds]) => [end += sum(seconds), ...seconds]) : rows;
  };
  const secondsOf = (rows) => parts.map((_, k) => sum(rows.map((row) => row[k + 1])));
  const sharesOf = (seconds) => { const all = sum(seconds); return seconds.map((value) => all > 0 ? 100 * value / all : 0); };
  // At most so many steps, each of the same number of rows; a step reaches from its point to the next one.
  const pointsOf = (rows) => {
    const each = Math.ceil(rows.length / MOST), points = [];
    let [at, shares] = [0, []];
    for (let i = 0; i < rows.length; i += each) {
      const bin = rows.slice(i, i + each), end = bin[bin.length - 1][0];
      shares = sharesOf(secondsOf(bin));
      if (end > at) points.push([at, ...shares]);
      at = end;
    }
    return [...points, [at, ...shares]];
  };
  const percent = (share) => isNumber(share) ? `${share.toFixed(1)} %` : '–';

  const describe = (x, points = []) => {
    const shareOf = (name) => points.find((point) => point.name === name)?.yval;
    key.replaceChildren(...(x === undefined ? [] : [make('span', {}, `${overOf()} ${formatCount(x)}`)]), ...parts.map(([name, colour]) =>
      make('span', {}, dot(colour), name, isNumber(shareOf(name)) ? ` ${percent(shareOf(name))}` : '')));
  };
  // The first of the parts lies lowest, where dygraphs has the last series.
  const optionsOf = (points) => ({...chartLook(overOf()), file: points.map(([x, ...shares]) => [x, ...shares.reverse()]),
    labels: ['x', ...parts.map(([name]) => name).reverse()], colors: parts.map(([, colour]) => colourOf(colour)).reverse(),
    stackedGraph: true, stepPlot: true, fillAlpha: 0.7, strokeWidth: 1, valueRange: [0, 100.01], ylabel: 'percent of the wall time',
    highlightCallback: (event, x, at) => describe(x, at), unhighlightCallback: () => describe()});
  const drawChart = (rows) => {
    const points = pointsOf(rows), {file, ...options} = optionsOf(points);
    if (chart) chart.updateOptions({file, ...options});
    else {
      place.replaceChildren();
      chart = new Dygraph(place, file, options);
    }
    place.dataset.points = points.length;
    describe();
  };
  const tell = (rows) => {
    const all = secondsOf(rows), last = rows[rows.length - 1].slice(1), [shares, newest] = [sharesOf(all), sharesOf(last)];
    const most = newest.indexOf(Math.max(...newest));
    setText(say, `Of the last ${formatTime(sum(last))} ${percent(newest[most])} went to ${parts[most][0]}.`);
    table.replaceChildren(...parts.map(([name, colour], k) => make('tr', {}, make('th', {scope: 'row'}, dot(colour), name),
      [percent(newest[k]), percent(shares[k]), formatTime(all[k])].map((text) => make('td', {class: 'number'}, text)))));
    place.setAttribute('aria-label', `Shares of the wall time over ${overOf()}; the table below has the numbers`);
  };
  // Without a row that has times there is a line in place of it all.
  const drop = (text) => {
    if (chart) chart.destroy();
    chart = null;
    setText(say, text);
    key.replaceChildren();
  };
  const render = () => {
    const rows = data ? rowsOf(data.columns) : [];
    for (const part of [place, numbers]) part.hidden = !rows.length;
    if (!rows.length) return drop(data && data.rows ? 'The rows of this run have no times: it was trained by a version that did not write them.' : 'No numbers yet.');
    tell(rows);
    return drawChart(rows);
  };
  const refresh = async () => {
    const run = oneRun(), over = overOf();
    if (!run) return render();
    const next = await loadColumns(run.run, [over, ...parts.map(([name]) => `time_${name}`)], data && data.run === run.run ? data : null);
    if (app.view.name !== 'time' || oneRun() !== run || overOf() !== over) return null;
    data = {run: run.run, ...next};
    if (next.isBehind) setTimeout(safely(refresh), 100);
    return render();
  };
  const change = (changes) => { keep(changes); data = null; return refresh(); };
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => app.view && app.view.name === 'time' && render());

  app.views.push({name: 'time', title: 'Time', show: (main) => {
    const run = oneRun();
    data = chart = null;
    place = make('div', {class: 'chart', role: 'img', tabindex: '0', onkeydown: zoom.byKey});
    key = make('div', {class: 'key'});
    say = make('p', {class: 'say', role: 'status'});
    table = make('tbody');
    const heads = ['part', 'last row', 'whole run', 'took'].map((text, i) => make('th', {scope: 'col', class: i ? 'number' : ''}, text));
    numbers = make('div', {class: 'scroll'}, make('table', {}, make('caption', {class: 'hidden'}, 'Where the time goes, in numbers'), make('thead', {}, make('tr', {}, heads)), table));
    main.append(make('h2', {}, 'Where the time goes'), make('div', {class: 'controls'}, runChoice(run ? run.run : 0, safely((value) => change({run: value}))),
      choice('Over', overs.map((name) => [name, name]), overOf(), safely((value) => change({over: value}))), zoom.buttons()), say, place, key, numbers);
    return refresh();
  }, update: (changed) => {
    const run = oneRun();
    if (!run || timer || !changed.some((other) => other.run === run.run)) return;
    timer = setTimeout(() => { timer = null; if (app.view && app.view.name === 'time') safely(refresh)(); }, 200);
  }});
}
