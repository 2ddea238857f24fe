// Parallel coordinates of cumind sweep --html: a drag along an axis keeps the trials between its ends, a click on it lets all pass again.
'use strict';
(() => {
  const picture = document.querySelector('svg.trials'), trials = [...picture.querySelectorAll('.trial')];
  const [top, bottom] = picture.dataset.span.split(' ').map(Number), chosen = new Map();
  const rows = new Map([...document.querySelectorAll('tr[data-trial]')].map((row) => [row.dataset.trial, row]));
  const heights = new Map(trials.map((trial) => [trial, trial.dataset.y.split(' ').map(Number)]));
  const passes = (trial) => [...chosen].every(([axis, [low, high]]) => {
    const y = heights.get(trial)[axis];
    return y >= low && y <= high;
  });
  const show = () => trials.forEach((trial) => {
    const out = !passes(trial), row = rows.get(trial.dataset.trial);
    trial.classList.toggle('out', out);
    if (row) row.hidden = out;
  });
  const heightOf = (event) => {
    const point = new DOMPoint(event.clientX, event.clientY).matrixTransform(picture.getScreenCTM().inverse());
    return Math.min(bottom, Math.max(top, point.y));
  };
  picture.querySelectorAll('.axis').forEach((axis) => {
    const number = Number(axis.dataset.axis), range = axis.querySelector('.range');
    let from = null;
    const set = (ends) => {
      if (ends) chosen.set(number, ends);
      else chosen.delete(number);
      range.setAttribute('y', ends ? ends[0] : top);
      range.setAttribute('height', ends ? ends[1] - ends[0] : 0);
      show();
    };
    axis.addEventListener('pointerdown', (event) => {
      from = heightOf(event);
      axis.setPointerCapture(event.pointerId);
      set(null);
    });
    axis.addEventListener('pointermove', (event) => {
      const to = heightOf(event);
      if (from !== null && Math.abs(to - from) > 3) set([Math.min(from, to), Math.max(from, to)]);
    });
    axis.addEventListener('pointerup', () => { from = null; });
  });
  trials.forEach((trial) => rows.get(trial.dataset.trial)?.addEventListener('pointerenter', () => trial.classList.add('near')));
  trials.forEach((trial) => rows.get(trial.dataset.trial)?.addEventListener('pointerleave', () => trial.classList.remove('near')));
})();
