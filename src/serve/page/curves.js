// Curves of a metric: several runs, seeds as a band around their mean, smoothed, zoomed, as they grow.
'use strict';
{
  let data, chart, place, key, table, timer;
  const settings = () => {
    const {values} = readAddress();
    return {metric: values.get('metric') || 'mean_return', over: values.get('over') || 'env_steps', smooth: Number(values.get('smooth') || 0), band: values.get('band') === '1'};
  };

  const load = async (number) => {
    const {metric, over} = settings(), next = await loadColumns(number, [over, metric], data.get(number));
    if (settings().metric !== metric || settings().over !== over) return;
    data.set(number, next);
    if (next.isBehind) setTimeout(safely(refresh), 100);
  };

  // ---- series ----
  const smoothed = (points, share) => {
    let mean = null, weight = 0;
    return share === 0 ? points : points.map(([x, y]) => {
      mean = mean === null ? y : share * mean + (1 - share) * y;
      weight = share * weight + (1 - share);
      return [x, weight < 1 && mean !== null ? mean : y];
    });
  };
  const pointsOf = (number) => {
    const {columns: [x, y]} = data.get(number) || {columns: [[], []]};
    return x.map((at, i) => [at, y[i]]).filter(([at, value]) => isNumber(at) && isNumber(value));
  };
  // The value of a curve at x, between its points on a line; null before the first and after the last.
  const valueAt = (points, x) => {
    let low = 0, high = points.length - 1;
    if (high < 0 || x < points[0][0] || x > points[high][0]) return null;
    while (high - low > 1) { const middle = (low + high) >> 1; if (points[middle][0] <= x) low = middle; else high = middle; }
    const [a, b] = [points[low], points[high]], share = b[0] > a[0] ? (x - a[0]) / (b[0] - a[0]) : 0;
    return a[1] + share * (b[1] - a[1]);
  };
  const folderOf = (run) => run.path.replace(/\/[^/]*$/, '');
  const groupsOf = (numbers, band) => {
    const groups = new Map();
    for (const number of numbers) {
      const run = app.runs[number], name = band ? `${folderOf(run)} ${run.environment}` : number;
      if (!groups.has(name)) groups.set(name, []);
      groups.get(name).push(number);
    }
    return [...groups.values()];
  };
  const labelOf = (group) => group.length === 1 ? app.runs[group[0]].name : `${folderOf(app.runs[group[0]]).split('/').pop()} (${group.length} runs)`;
  // [x, low, mean, high] at every x of one of the runs.
  const seriesOf = (group, share) => {
    const curves = group.map((number) => smoothed(pointsOf(number), share)).filter((points) => points.length);
    const all = [...new Set(curves.flatMap((points) => points.map(([x]) => x)))].sort((a, b) => a - b);
    return all.map((x) => {
      const values = curves.map((points) => valueAt(points, x)).filter((value) => value !== null);
      return [x, Math.min(...values), values.reduce((sum, value) => sum + value, 0) / values.length, Math.max(...values)];
    });
  };
  const rowsOf = (series) => {
    const rows = new Map();
    series.forEach((points, i) => points.forEach(([x, ...values]) => {
      if (!rows.has(x)) rows.set(x, [x, ...series.map(() => null)]);
      rows.get(x)[i + 1] = values;
    }));
    return [...rows.values()].sort((a, b) => a[0] - b[0]);
  };

  // ---- the picture ----
  const describe = (labels, x, points = []) => {
    const valueOf = (label) => points.find((point) => point.name === label)?.yval;
    key.replaceChildren(...(x === undefined ? [] : [make('span', {}, `${settings().over} ${formatCount(x)}`)]), ...labels.map((label, i) =>
      make('span', {}, dot(i), label, isNumber(valueOf(label)) ? ` ${formatNumber(valueOf(label))}` : '')));
  };
  const optionsOf = (labels, rows) => ({...chartLook(settings().over), file: rows, labels: ['x', ...labels], customBars: true, connectSeparatedPoints: true,
    colors: labels.map((_, i) => colourOf(i)), fillAlpha: 0.16, strokeWidth: 2, drawPoints: rows.length < 60, pointSize: 2.5,
    highlightCallback: (event, x, points) => describe(labels, x, points), unhighlightCallback: () => describe(labels)});
  const show = (series, labels) => {
    const rows = rowsOf(series);
    if (!rows.length) {
      if (chart) chart.destroy();
      chart = null;
      place.replaceChildren(make('p', {class: 'soft'}, 'No numbers yet.'));
      setText(key, '');
    } else if (chart && chart.getLabels().join('\n') === ['x', ...labels].join('\n')) {
      chart.updateOptions(optionsOf(labels, rows));
    } else {
      if (chart) chart.destroy();
      place.replaceChildren();
      const {file, ...options} = optionsOf(labels, rows);
      chart = new Dygraph(place, file, options);
    }
    if (rows.length) describe(labels);
    place.dataset.points = rows.length;
  };
  // The same in words, for those who cannot see the picture, or want the numbers.
  const tell = (series, labels) => table.replaceChildren(...series.map((points, i) => {
    const means = points.map((point) => point[2]), last = points[points.length - 1];
    const numbers = last ? [last[2], Math.min(...means), Math.max(...means), last[0]] : [];
    return make('tr', {}, make('th', {scope: 'row'}, dot(i), labels[i]),
      [0, 1, 2].map((k) => make('td', {class: 'number'}, formatNumber(numbers[k]))), make('td', {class: 'number'}, formatCount(numbers[3])));
  }));
  const render = () => {
    const {smooth, band} = settings(), groups = groupsOf(chosenRuns(), band);
    const series = groups.map((group) => seriesOf(group, smooth)), labels = groups.map(labelOf);
    show(series, labels.map((label, i) => labels.indexOf(label) === i ? label : `${label} #${i}`));
    tell(series, labels);
    place.setAttribute('aria-label', `${settings().metric} over ${settings().over} of ${labels.length} curves; the table below has their numbers`);
  };
  const refresh = async () => {
    await Promise.all(chosenRuns().slice(0, 32).map(load));
    if (app.view && app.view.name === 'curves') render();
  };
  const change = (changes) => { keep(changes); return refresh(); };
  const zoom = zoomOf(() => chart);
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => app.view && app.view.name === 'curves' && render());

  app.views.push({name: 'curves', title: 'Curves', show: (main) => {
    const {metric, over, smooth, band} = settings(), overs = ['env_steps', 'updates', 'episodes', 'iteration', 'seconds'];
    data = new Map();
    chart = null;
    place = make('div', {class: 'chart', role: 'img', tabindex: '0', onkeydown: zoom.byKey});
    key = make('div', {class: 'key'});
    table = make('tbody');
    const heads = ['curve', 'last', 'lowest', 'highest', 'up to'].map((text, i) => make('th', {scope: 'col', class: i ? 'number' : ''}, text));
    main.append(make('h2', {}, 'Curves'), make('div', {class: 'controls'},
      choice('Metric', app.fields.map((name) => [name, name]), metric, safely((value) => change({metric: value}))),
      choice('Over', overs.map((name) => [name, name]), over, safely((value) => change({over: value}))),
      control('Smoothing', make('input', {type: 'range', min: 0, max: 0.98, step: 0.02, value: smooth, oninput: (event) => { keep({smooth: event.target.value}); render(); }})),
      make('label', {class: 'check'}, make('input', {type: 'checkbox', checked: band, onchange: (event) => { keep({band: event.target.checked ? '1' : null}); render(); }}), 'Runs of a folder as one band'),
      zoom.buttons()),
      place, key, runChecks(chosenRuns(), safely(refresh)),
      make('div', {class: 'scroll'}, make('table', {}, make('caption', {class: 'hidden'}, 'The curves in numbers'), make('thead', {}, make('tr', {}, heads)), table)));
    return refresh();
  }, update: (changed) => {
    if (!changed.some((run) => chosenRuns().includes(run.run)) || timer) return;
    timer = setTimeout(() => { timer = null; if (app.view && app.view.name === 'curves') safely(refresh)(); }, 200);
  }});
}
