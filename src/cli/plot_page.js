// Zooms the picture of a page that cumind plot --html writes: each .panel says by data-frame (left, top, width, height), data-x
// and data-y (low, high) what it shows, and the view of its .data is moved within that.
'use strict';
(() => {
  const picture = document.querySelector('svg'), tip = document.querySelector('#tip');
  const numbers = (text) => text.split(' ').map(Number);
  const element = (parent, name, attributes, text) => {
    const made = document.createElementNS(picture.namespaceURI, name);
    for (const key in attributes) made.setAttribute(key, attributes[key]);
    if (text !== undefined) made.textContent = text;
    return parent.appendChild(made);
  };

  // ---- ticks, as src/cli/axis.c makes them ----
  const ticksOf = ([low, high], most) => {
    const rough = (high - low) / most, unit = 10 ** Math.floor(Math.log10(rough) + 1e-9), digits = rough / unit;
    const step = unit * (digits > 5 ? 10 : digits > 2 ? 5 : digits > 1 ? 2 : 1);
    const values = [];
    for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9 * step; k++) values.push(k * step);
    return {step, values};
  };
  const raised = (power) => String(power).replace(/./g, (c) => c === '-' ? '\u207b' : '\u2070\u00b9\u00b2\u00b3\u2074\u2075\u2076\u2077\u2078\u2079'[c]);
  const signed = (text, below) => (below && +text !== 0 ? '\u2212' : '') + text;
  // Labels of numbers `offset` away, and a note that says the rest: a power of ten, of sizes below `least` too, and the offset.
  const labelsFrom = (offset, numbers, step, least) => {
    const size = Math.max(...numbers.map((v) => Math.abs(v - offset))), isPower = size >= 1e12 || (size < least && size > 0);
    const power = Math.floor(Math.log10(size) + 1e-9), suffixed = size >= 1e9 ? [1e9, 'G'] : size >= 1e6 ? [1e6, 'M'] : size >= 1e4 ? [1e3, 'k'] : [1, ''];
    const [unit, suffix] = isPower ? [10 ** power, ''] : suffixed, places = Math.max(0, -Math.floor(Math.log10(step / unit) + 1e-9));
    const labels = numbers.map((v) => {
      const text = Math.abs((v - offset) / unit).toFixed(Math.min(places, 20));
      return signed(text, v < offset) + (+text ? suffix : '');
    });
    const common = offset ? (offset < 0 ? '\u2212' : '+') + +Math.abs(offset).toPrecision(12) : '';
    return {labels, note: [isPower ? `\u00d710${raised(power)}` : '', common].filter(Boolean).join(' ')};
  };
  // Ticks are multiples of `by`. What they have in common goes into the note where a label has more than `most` characters.
  const labelsOf = ({step, values}, by, most, least) => {
    const numbers = values.map((v) => v * by), plain = labelsFrom(0, numbers, step * by, least);
    if (!values.length || plain.labels.every((label) => label.length <= most)) return plain;
    const round = 10 ** Math.ceil(Math.log10(step * values.length) + Math.log10(by));
    return labelsFrom(Math.floor(numbers[0] / round) * round, numbers, step * by, least);
  };
  const drawTicks = (panel) => {
    const [left, top, width, height] = panel.frame, x = ticksOf(panel.x, Math.max(2, Math.min(10, Math.floor(width / 60))));
    const y = ticksOf(panel.y, Math.max(3, Math.min(9, Math.floor(height / 26)))), right = left + width, bottom = top + height;
    const ofX = labelsOf(x, 1, 7, 1e-3), ofY = labelsOf(y, panel.unit, 5, 0.1); // left of the frame is space for few digits
    panel.ticks.replaceChildren();
    y.values.forEach((v, i) => {
      const at = bottom - height * (v - panel.y[0]) / (panel.y[1] - panel.y[0]);
      element(panel.ticks, 'line', {class: 'grid', x1: left, x2: right, y1: at, y2: at});
      element(panel.ticks, 'text', {x: left - 7, y: at + 4, 'text-anchor': 'end'}, ofY.labels[i]);
    });
    x.values.forEach((v, i) => {
      const at = left + width * (v - panel.x[0]) / (panel.x[1] - panel.x[0]);
      element(panel.ticks, 'line', {class: 'grid', x1: at, x2: at, y1: top, y2: bottom});
      element(panel.ticks, 'text', {x: at, y: bottom + 16, 'text-anchor': 'middle'}, ofX.labels[i]);
    });
    element(panel.ticks, 'text', {x: left, y: top - 5}, ofY.note);
    element(panel.ticks, 'text', {x: right, y: bottom + 32, 'text-anchor': 'end'}, ofX.note);
  };

  // ---- the view ----
  const panels = [...picture.querySelectorAll('.panel')].map((group) => {
    const x = numbers(group.dataset.x), range = numbers(group.dataset.y), ticks = group.querySelector('.ticks');
    const unit = Number.isFinite(range[1] - range[0]) ? 1 : 1e9, y = range.map((v) => v / unit); // so that the distance is a number
    return {group, frame: numbers(group.dataset.frame), all: {x, y}, x, y, unit, ticks, drawn: ticks.innerHTML,
            data: group.querySelector('.data')};
  });
  const show = (panel) => {
    const {all, x, y, frame: [, , width, height]} = panel, across = width / (all.x[1] - all.x[0]), down = height / (all.y[1] - all.y[0]);
    panel.data.setAttribute('viewBox', [(x[0] - all.x[0]) * across, (all.y[1] - y[1]) * down, (x[1] - x[0]) * across, (y[1] - y[0]) * down].join(' '));
    if (x === all.x && y === all.y) panel.ticks.innerHTML = panel.drawn;
    else drawTicks(panel);
  };
  const showX = (x) => panels.forEach((panel) => { panel.x = x; show(panel); });
  const reset = () => panels.forEach((panel) => { panel.x = panel.all.x; panel.y = panel.all.y; show(panel); });
  const pointOf = (event) => new DOMPoint(event.clientX, event.clientY).matrixTransform(picture.getScreenCTM().inverse());
  const panelAt = ({x, y}) => panels.find(({frame: [left, top, width, height]}) => x >= left && x <= left + width && y >= top && y <= top + height);
  const valuesAt = (panel, {x, y}) => {
    const [left, top, width, height] = panel.frame, within = (v, low, size) => Math.min(1, Math.max(0, (v - low) / size));
    return {x: panel.x[0] + (panel.x[1] - panel.x[0]) * within(x, left, width), y: panel.y[1] - (panel.y[1] - panel.y[0]) * within(y, top, height)};
  };

  picture.addEventListener('wheel', (event) => {
    const at = pointOf(event), panel = panelAt(at);
    if (!panel) return;
    event.preventDefault();
    const {x} = valuesAt(panel, at), factor = 1.2 ** Math.sign(event.deltaY), [low, high] = panel.all.x;
    const next = [Math.max(low, x - (x - panel.x[0]) * factor), Math.min(high, x + (panel.x[1] - x) * factor)];
    if (next[1] - next[0] >= (high - low) * (1 - 1e-9)) showX(panel.all.x);
    else if (next[1] - next[0] > (high - low) * 1e-4) showX(next);
  }, {passive: false});

  // ---- a part that is dragged over ----
  let drag = null;
  const corners = (a, b) => [Math.min(a.x, b.x), Math.min(a.y, b.y), Math.abs(a.x - b.x), Math.abs(a.y - b.y)];
  picture.addEventListener('pointerdown', (event) => {
    const from = pointOf(event), panel = panelAt(from);
    if (!panel || event.button !== 0) return;
    picture.setPointerCapture(event.pointerId);
    drag = {from, panel, box: element(picture, 'rect', {class: 'chosen'})};
  });
  picture.addEventListener('pointermove', (event) => {
    const at = pointOf(event);
    if (!drag) return hover(event, at);
    corners(drag.from, at).forEach((v, i) => drag.box.setAttribute(['x', 'y', 'width', 'height'][i], v));
  });
  picture.addEventListener('pointerup', (event) => {
    if (!drag) return;
    const {from, panel, box} = drag, to = pointOf(event), [, , width, height] = corners(from, to);
    box.remove();
    drag = null;
    if (width < 5 || height < 5) return;
    const a = valuesAt(panel, from), b = valuesAt(panel, to);
    if (Math.abs(a.x - b.x) < (panel.all.x[1] - panel.all.x[0]) * 1e-4) return;
    panel.y = [Math.min(a.y, b.y), Math.max(a.y, b.y)];
    showX([Math.min(a.x, b.x), Math.max(a.x, b.x)]);
  });
  picture.addEventListener('dblclick', reset);

  // ---- the numbers under the pointer ----
  const pointsOf = (panel, group) => [...group.querySelectorAll('path')].flatMap((path) =>
    [...path.getAttribute('d').matchAll(/[ML]([-\d.]+),([-\d.]+)/g)].map(([, x, y]) => {
      const [, , width, height] = panel.frame, {x: [left, right], y: [low, high]} = panel.all;
      return {x: left + (right - left) * x / width, y: (high - (high - low) * y / height) * panel.unit};
    }));
  for (const panel of panels)
    panel.series = [...panel.group.querySelectorAll('.series')].map((group) => ({
      name: group.querySelector('title').textContent, points: pointsOf(panel, group),
      colour: getComputedStyle(group.querySelector('path') || group).stroke}));
  for (const title of picture.querySelectorAll('.series title')) title.remove(); // the tip says more
  // As many digits as tell ten thousand places of an axis apart.
  const digitsOf = (value, [low, high], by) => +value.toPrecision(Math.min(15, Math.max(4, 4 + Math.ceil(Math.log10(Math.abs(value) / by / (high - low))))));
  const hover = (event, at) => {
    const panel = panelAt(at);
    tip.hidden = !panel;
    if (!panel) return;
    const {x} = valuesAt(panel, at), near = (points) => points.reduce((best, p) => Math.abs(p.x - x) < Math.abs(best.x - x) ? p : best);
    tip.replaceChildren();
    for (const {name, points, colour} of panel.series) {
      if (!points.length) continue;
      const p = near(points), line = tip.appendChild(document.createElement('div')), mark = line.appendChild(document.createElement('b'));
      mark.textContent = '\u25cf ';
      mark.style.color = colour;
      line.append(`${digitsOf(p.y, panel.all.y, panel.unit)} at ${digitsOf(p.x, panel.all.x, 1)}: ${name}`);
    }
    const right = event.pageX + 16 + tip.offsetWidth > document.documentElement.scrollWidth;
    tip.style.left = `${right ? event.pageX - 16 - tip.offsetWidth : event.pageX + 16}px`;
    tip.style.top = `${event.pageY + 12}px`;
  };
  picture.addEventListener('pointerleave', () => { tip.hidden = true; });
})();
