// Where the configurations of runs differ.
'use strict';
{
  const flatten = (object, into = new Map()) => {
    for (const [key, value] of Object.entries(object || {}))
      if (value && typeof value === 'object' && !Array.isArray(value)) flatten(value, into); else into.set(key, JSON.stringify(value));
    return into;
  };
  let place;
  const render = async () => {
    const numbers = chosenRuns().slice(0, 8), all = readAddress().values.get('all') === '1';
    const configs = await Promise.all(numbers.map(async (number) => flatten((await ask(`/api/runs/${number}/config`)).config)));
    const keys = [...new Set(configs.flatMap((config) => [...config.keys()]))];
    const differing = keys.filter((key) => new Set(configs.map((config) => config.get(key))).size > 1);
    const shown = all || numbers.length < 2 ? keys : differing;
    const heads = [make('th', {scope: 'col'}, 'key'), numbers.map((number) => make('th', {scope: 'col'}, app.runs[number].name))];
    const rows = shown.map((key) => make('tr', {}, make('th', {scope: 'row'}, differing.includes(key) ? make('b', {}, key) : key), configs.map((config) => make('td', {}, config.get(key) ?? '–'))));
    place.replaceChildren(make('p', {class: 'soft', role: 'status'}, numbers.length < 2 ? 'Choose another run to see where the two differ.' : `Of ${keys.length} keys ${differing.length} ${differing.length === 1 ? 'differs' : 'differ'}.`),
      make('div', {class: 'scroll', tabindex: '0', role: 'region', 'aria-label': 'Keys'}, make('table', {}, make('caption', {class: 'hidden'}, 'Keys of the configurations'), make('thead', {}, make('tr', {}, heads)), make('tbody', {}, rows))));
  };
  app.views.push({name: 'config', title: 'Configuration', show: (main) => {
    place = make('div');
    main.append(make('h2', {}, 'Configuration'), runChecks(chosenRuns(), safely(render)),
      make('div', {class: 'controls'}, make('label', {class: 'check'}, make('input', {type: 'checkbox', checked: readAddress().values.get('all') === '1',
        onchange: safely((event) => { keep({all: event.target.checked ? '1' : null}); return render(); })}), 'All keys')), place);
    return render();
  }, update: () => {}});
}
