// What the views share: elements, numbers, questions to the server, and the runs as they are now.
'use strict';
const app = {runs: [], views: [], view: null, fields: [], chosen: null};

// An element with attributes; "on" ones are listeners, a text or an element follows another as its child.
const make = (name, attributes = {}, ...children) => {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith('on')) made.addEventListener(key.slice(2), value);
    else if (value === true) made.setAttribute(key, '');
    else if (value !== false && value !== undefined && value !== null) made.setAttribute(key, value);
  }
  made.append(...children.flat(3).filter((child) => child !== null && child !== undefined));
  return made;
};
const draw = (name, attributes = {}, ...children) => {
  const made = document.createElementNS('http://www.w3.org/2000/svg', name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith('on')) made.addEventListener(key.slice(2), value);
    else made.setAttribute(key, value);
  }
  made.append(...children.flat(3));
  return made;
};
const setText = (element, text) => { if (element.textContent !== text) element.textContent = text; };

// ---- numbers ----
const isNumber = (value) => typeof value === 'number' && Number.isFinite(value);
const formatCount = (value) => {
  if (!isNumber(value) || value < 0) return '–';
  const [unit, letter] = value >= 1e9 ? [1e9, 'G'] : value >= 1e6 ? [1e6, 'M'] : value >= 1e4 ? [1e3, 'k'] : [1, ''];
  return `${+(value / unit).toPrecision(unit === 1 ? 6 : 3)}${letter}`;
};
const formatNumber = (value) => isNumber(value) ? String(+value.toPrecision(4)).replace('-', '−') : '–';
const formatTime = (seconds) => {
  if (!isNumber(seconds)) return '–';
  const s = Math.round(seconds), minutes = Math.floor(s / 60), two = (n) => String(n).padStart(2, '0');
  return s < 60 ? `${s}s` : s < 3600 ? `${minutes}m${two(s % 60)}s` : `${Math.floor(s / 3600)}h${two(minutes % 60)}m`;
};

// ---- the server ----
const ask = async (path, body) => {
  const options = body === undefined ? {} : {method: 'POST', headers: {'Content-Type': 'application/json'}, body: JSON.stringify(body)};
  const response = await fetch(path, options), text = await response.text();
  const answer = text ? JSON.parse(text) : {};
  if (!response.ok) throw new Error(answer.error || `${response.status} ${response.statusText}`);
  return answer;
};
const complain = (error) => {
  const place = document.querySelector('#error') || document.querySelector('#main').appendChild(make('p', {id: 'error', role: 'alert', class: 'gone'}));
  setText(place, error.message);
};
// A listener that may fail: what went wrong is said on the page.
const safely = (action) => (...values) => Promise.resolve().then(() => action(...values)).catch(complain);

// ---- runs ----
// Names without the folders that all have in common.
const nameRuns = () => {
  const parts = app.runs.map((run) => run.path.split('/'));
  let common = 0;
  while (parts.length > 1 && parts.every((p) => p.length > common + 1 && p[common] === parts[0][common])) common++;
  app.runs.forEach((run, i) => { run.name = parts.length > 1 ? parts[i].slice(common).join('/') : parts[i].slice(-2).join('/'); });
};
const noteRuns = (runs) => {
  for (const run of runs) app.runs[run.run] = run;
  nameRuns();
};

// ---- the address: #/view?key=value ----
const readAddress = () => {
  const [name, query] = location.hash.replace(/^#\//, '').split('?');
  return {name, values: new URLSearchParams(query || '')};
};
// Keeps what is chosen in the address, so that it can be gone back to and sent.
const keep = (changes) => {
  const {name, values} = readAddress();
  for (const [key, value] of Object.entries(changes)) if (value === null || value === '') values.delete(key); else values.set(key, value);
  history.replaceState(null, '', `#/${name}?${values}`);
  if (changes.runs !== undefined) app.chosen = changes.runs;
};
const chosenRuns = () => {
  const text = readAddress().values.get('runs') ?? app.chosen;
  const numbers = text === null ? [] : text.split(',').filter(Boolean).map(Number).filter((n) => app.runs[n]);
  return text === null ? app.runs.filter((run) => run.state === 'training').concat(app.runs).slice(0, 1).map((run) => run.run) : numbers;
};

// ---- controls ----
const control = (label, element) => make('label', {class: 'above'}, label, element);
const choice = (label, options, value, onchange) => {
  const select = make('select', {onchange: () => onchange(select.value)},
    options.map(([key, text]) => make('option', {value: key, selected: String(key) === String(value)}, text)));
  return control(label, select);
};
const runChoice = (value, onchange) => choice('Run', app.runs.map((run) => [run.run, run.name]), value, onchange);
const runChecks = (chosen, onchange) => make('fieldset', {}, make('legend', {}, 'Runs'), app.runs.map((run) => make('label', {class: 'check'},
  make('input', {type: 'checkbox', checked: chosen.includes(run.run), onchange: (event) => {
    const next = new Set(chosenRuns());
    if (event.target.checked) next.add(run.run); else next.delete(run.run);
    keep({runs: [...next].sort((a, b) => a - b).join(',') || ','});
    onchange();
  }}), run.name)));
const oneRun = () => {
  const value = Number(readAddress().values.get('run') ?? chosenRuns()[0] ?? 0);
  return app.runs[value] || app.runs[0];
};
