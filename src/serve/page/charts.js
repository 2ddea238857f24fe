// What charts share: columns of metrics, colours, looks, and zooming by keys and buttons.
'use strict';
const COLOURS = 10;
const styleOf = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const colourOf = (i) => styleOf(`--c${i % COLOURS}`);
const dot = (i) => make('b', {class: `k${i % COLOURS}`, 'aria-hidden': 'true'}, '● ');

// Columns of a run's metrics.jsonl, of which only rows that are not `known` from the last time are asked for.
const loadColumns = async (number, fields, known) => {
  const names = fields.join(','), old = known && known.names === names ? known : null;
  const answer = await ask(`/api/runs/${number}/metrics?fields=${names}${old ? `&from=${old.rows}&generation=${old.generation}` : ''}`);
  const start = old && answer.from > 0 ? answer.from : 0;
  const columns = fields.map((field, i) => (start ? old.columns[i].slice(0, start) : []).concat(answer.columns[field]));
  return {names, columns, rows: answer.rows, generation: answer.generation, isBehind: answer.is_behind};
};

// The legend is our own: that of dygraphs has styles in its text, which the page's policy forbids.
Dygraph.PLUGINS = Dygraph.PLUGINS.filter((plugin) => plugin !== Dygraph.Plugins.Legend);
const chartLook = (xlabel) => ({gridLineColor: styleOf('--grid'), axisLineColor: styleOf('--grid'), highlightCircleSize: 4, xlabel,
  labelsKMB: true, axes: {y: {axisLabelWidth: 54}}, animatedZooms: false, rightGap: 12});

// chartOf() is the chart as it is now, or null: `byKey` listens to its keys, `buttons` are for all others.
const zoomOf = (chartOf) => {
  const zoom = (factor) => {
    const chart = chartOf();
    if (!chart) return;
    const [low, high] = chart.xAxisRange(), middle = (low + high) / 2, half = (high - low) / 2 * factor, [first, last] = chart.xAxisExtremes();
    chart.updateOptions({dateWindow: [Math.max(first, middle - half), Math.min(last, middle + half)]});
  };
  const move = (share) => {
    const chart = chartOf();
    if (!chart) return;
    const [low, high] = chart.xAxisRange(), by = (high - low) * share;
    chart.updateOptions({dateWindow: [low + by, high + by]});
  };
  const reset = () => { if (chartOf()) chartOf().resetZoom(); };
  const actions = {'+': () => zoom(0.5), '-': () => zoom(2), ArrowLeft: () => move(-0.2), ArrowRight: () => move(0.2), '0': reset};
  const byKey = (event) => {
    if (!actions[event.key]) return;
    event.preventDefault();
    actions[event.key]();
  };
  const button = (text, onclick) => make('button', {type: 'button', onclick}, text);
  return {byKey, buttons: () => make('span', {}, button('Zoom in', () => zoom(0.5)), ' ', button('Zoom out', () => zoom(2)), ' ', button('All', reset))};
};
