// What a run has said, as it goes on, and pictures of its evaluations.
'use strict';
{
  const MOST = 200000; // characters that are kept
  let text, next, busy, pictures;
  const load = async () => {
    const run = oneRun();
    if (!run || busy) return;
    if (run.log === null) return setText(text, 'This run has no log.');
    if (next === 0) setText(text, '');
    busy = true;
    try {
      const answer = await ask(`/api/runs/${run.run}/log?from=${next}`), isLow = text.scrollTop + text.clientHeight >= text.scrollHeight - 40;
      if (answer.from !== next) text.textContent = '';
      text.textContent = (text.textContent + answer.text).slice(-MOST);
      next = answer.next;
      if (isLow) text.scrollTop = text.scrollHeight;
    } finally { busy = false; }
  };
  const loadPictures = async () => {
    const run = oneRun(), {episodes} = await ask(`/api/runs/${run.run}/episodes`);
    const order = episodes.sort((a, b) => (parseInt(b, 10) || Infinity) - (parseInt(a, 10) || Infinity)).slice(0, 6);
    pictures.replaceChildren(...order.map((name) => make('figure', {}, make('img', {src: `/api/runs/${run.run}/episodes/${name}`, alt: `an evaluation episode, ${name}`, loading: 'lazy'}),
      make('figcaption', {}, name === 'best.gif' ? 'the best evaluation' : `after ${formatCount(parseInt(name, 10))} updates`))));
    if (!order.length) pictures.replaceChildren(make('p', {class: 'soft'}, 'No pictures: evaluations during a run make them.'));
  };
  const begin = () => {
    text.textContent = '';
    next = 0;
    return Promise.all([load(), loadPictures()]);
  };
  app.views.push({name: 'log', title: 'Log', show: (main) => {
    const run = oneRun();
    text = make('pre', {tabindex: '0', role: 'log', 'aria-live': 'off', 'aria-label': 'The log'});
    pictures = make('div', {class: 'pictures'});
    main.append(make('h2', {}, 'Log'), make('div', {class: 'controls'}, runChoice(run ? run.run : 0, safely((value) => { keep({run: value}); return begin(); }))), text, make('h3', {}, 'Episodes'), pictures);
    return run ? begin() : null;
  }, update: (changed) => { const run = oneRun(); if (run && changed.some((other) => other.run === run.run)) safely(load)(); }});
}
