// A game against a run's agent, by clicking on its board or on buttons, with what the agent thinks; or an agent that is watched.
'use strict';
{
  let place, game, known, timer, playing;
  const player = (table, number) => table.players === 2 ? 'xo'[number] : '';
  const signed = (value) => (value > 0 ? '+' : '') + formatNumber(Math.round(value * 1000) / 1000);
  const order = (what, action) => ask(`/api/games/${game}`, action === undefined ? {do: what} : {do: what, action});

  // ---- the board ----
  const picture = (table) => {
    const text = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${table.width} ${table.height}" font-family="'DejaVu Sans Mono', monospace">${table.picture}</svg>`;
    const parsed = document.importNode(new DOMParser().parseFromString(text, 'image/svg+xml').documentElement, true);
    parsed.prepend(draw('rect', {width: table.width, height: table.height, fill: `#${table.background.toString(16).padStart(6, '0')}`}));
    parsed.setAttribute('class', 'board');
    return parsed;
  };
  // One stop of the tab key; the arrows go to the nearest place in their direction.
  const byArrow = (event, places) => {
    const way = {ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1]}[event.key];
    if (event.key === 'Enter' || event.key === ' ') { event.preventDefault(); event.currentTarget.dispatchEvent(new Event('click')); }
    if (!way) return;
    event.preventDefault();
    const from = event.currentTarget.place, ahead = places.map((hit) => {
      const dx = hit.place.x - from.x, dy = hit.place.y - from.y, along = dx * way[0] + dy * way[1], aside = Math.abs(dx * way[1]) + Math.abs(dy * way[0]);
      return {hit, cost: along > 1 ? along + 2 * aside : Infinity};
    }).reduce((best, other) => other.cost < best.cost ? other : best, {cost: Infinity});
    if (ahead.hit) { places.forEach((hit) => hit.setAttribute('tabindex', hit === ahead.hit ? 0 : -1)); ahead.hit.focus(); }
  };
  const hits = (table) => {
    const best = table.thought && table.thought.is_hint ? table.thought.action : -1, places = table.legal.filter((move) => move.x !== undefined);
    const made = places.map((move, i) => {
      const box = table.is_column ? {x: move.x - table.cell / 2, y: 0, width: table.cell, height: table.height} : {x: move.x - table.cell / 2, y: move.y - table.cell / 2, width: table.cell, height: table.cell};
      const hit = draw('g', {class: 'hit', role: 'button', tabindex: i ? -1 : 0, 'aria-label': `play ${move.name}`, 'data-action': move.action}, draw('rect', box),
        draw('circle', {cx: move.x, cy: move.y, r: table.cell * (move.action === best ? 0.3 : 0.16), class: move.action === best ? 'best' : 'dot'}));
      hit.place = move;
      return hit;
    });
    made.forEach((hit) => {
      hit.addEventListener('click', safely(() => order('move', hit.place.action)));
      hit.addEventListener('keydown', (event) => byArrow(event, made));
    });
    return made;
  };

  // ---- words and bars ----
  const resultOf = (table) => {
    if (!table.ended) return '';
    if (table.players === 1) return `The episode is over: return ${formatNumber(table.total)}.`;
    if (table.total === 0) return 'The game is over: a draw.';
    const winner = table.total > 0 ? 0 : 1, mine = table.side === 'first' ? 0 : 1;
    return table.side === 'none' ? `The game is over: ${player(table, winner)} wins.` : winner === mine ? 'The game is over: you win.' : 'The game is over: the agent wins.';
  };
  const statusOf = ({table, busy}) => {
    if (!table) return 'Loading the agent …';
    const last = table.moves.length ? `Last move: ${table.moves[table.moves.length - 1]}. ` : '';
    if (table.ended) return last + resultOf(table);
    if (busy) return `${last}The agent is thinking …`;
    if (table.players === 1) return `${last}Step ${table.moves.length}, return ${formatNumber(table.total)}.`;
    return table.side === 'none' ? `${last}${player(table, table.to_play)} is to move.` : `${last}Your move: you are ${player(table, table.to_play)}.`;
  };
  const bar = (share) => { const inner = make('div', {class: 'done'}), outer = make('div', {class: 'bar', 'aria-hidden': 'true'}, inner); inner.style.width = `${100 * share}%`; return outer; };
  const bars = (table) => {
    const {thought} = table;
    if (!thought) return make('p', {class: 'soft'}, 'What the agent thinks appears here after its move, or with Hint.');
    const rows = thought.moves.map((move) => make('tr', {}, make('th', {scope: 'row'}, move.action === thought.action ? make('b', {}, move.name) : move.name),
      make('td', {class: 'share'}, bar(thought.visits ? move.visits / thought.visits : 0)), make('td', {class: 'number'}, formatCount(move.visits)), make('td', {class: 'number'}, move.visits ? signed(move.q) : '–'),
      make('td', {class: 'share wide'}, bar(move.prior)), make('td', {class: 'number'}, `${Math.round(100 * move.prior)}%`)));
    const heads = [['move', ''], ['visits', ''], ['', 'number'], ['Q', 'number'], ['prior', 'wide'], ['', 'number']].map(([text, name]) => text ? make('th', {scope: 'col', class: name}, text) : make('td', {class: name}));
    const who = player(table, thought.player) ? ` as ${player(table, thought.player)}` : '', chosen = (thought.moves.find((move) => move.action === thought.action) || {name: '–'}).name;
    const words = thought.is_hint ? ['The agent would play ', `${chosen}, and expects `] : [`Before its move${who} the agent chose `, `${chosen}, and expected `];
    return [make('p', {}, words[0], words[1], make('b', {}, signed(thought.value)), '.'),
      make('div', {class: 'scroll'}, make('table', {}, make('caption', {class: 'hidden'}, 'Moves that the agent considered'), make('thead', {}, make('tr', {}, heads)), make('tbody', {}, rows)))];
  };

  // ---- all of it ----
  const button = (text, action, disabled, pressed) => make('button', {type: 'button', disabled, onclick: safely(action), 'aria-pressed': pressed}, text);
  const setPlaying = (on) => { playing = on; if (known) render(known); if (on) safely(() => order('step'))(); };
  const controls = ({table, busy}) => {
    const idle = !busy && table && !table.ended, others = table && table.side === 'none' ? [] : (table ? table.legal.filter((move) => move.x === undefined) : []);
    return make('div', {class: 'controls'}, table && table.side === 'none'
      ? [button('Step', () => order('step'), !idle || playing), button(playing ? 'Pause' : 'Go on', () => setPlaying(!playing), !table || table.ended, String(Boolean(playing)))]
      : [button('Hint', () => order('hint'), !idle)],
    button('Undo', () => order('undo'), busy || !table || !table.moves.length), button('Search tree', () => { location.hash = `#/tree?game=${game}`; }, busy || !table || table.ended),
    others.slice(0, 40).map((move) => button(move.name, () => order('move', move.action), !idle)));
  };
  const render = (news) => {
    const {table, error} = news, focus = document.activeElement && document.activeElement.getAttribute ? document.activeElement.closest('.board') : null;
    known = news;
    const parts = [make('p', {role: 'status', class: 'say'}, error ? `That does not go: ${error}` : statusOf(news)), controls(news)];
    if (table) {
      const board = picture(table);
      if (!news.busy && table.side !== 'none' && !table.ended && !table.waits) board.append(...hits(table));
      board.setAttribute('role', 'group');
      board.setAttribute('aria-label', `${table.environment}; moves so far: ${table.moves.join(', ') || 'none'}`);
      parts.splice(1, 0, make('div', {class: 'table'}, board, make('div', {class: 'thought'}, bars(table))));
      parts.push(make('p', {class: 'soft'}, `${table.simulations} simulations a move, ${formatCount(table.trained_steps)} steps of training. ${table.moves.length ? `Moves: ${table.moves.slice(-40).join(' ')}` : ''}`));
    }
    place.replaceChildren(...parts);
    if (focus) { const first = place.querySelector('.hit[tabindex="0"]'); if (first) first.focus(); }
    place.dataset.busy = String(Boolean(news.busy));
    if (playing && table && table.side === 'none' && !news.busy) {
      clearTimeout(timer);
      if (table.ended) playing = false;
      else timer = setTimeout(safely(() => playing && order('step')), table.players === 2 ? 700 : 120);
    }
  };
  const load = async () => {
    const asked = game, news = await ask(`/api/games/${asked}`);
    if (asked === game && app.view && app.view.name === 'play') render(news);
  };
  const begin = async (run, side, simulations) => {
    playing = false;
    const answer = await ask('/api/games', {run, side, seed: Math.floor(Math.random() * 1e6), ...(simulations > 0 ? {simulations} : {})});
    game = answer.game;
    keep({run, side, game});
    return load();
  };
  app.views.push({name: 'play', title: 'Play', show: async (main) => {
    const {values} = readAddress(), run = oneRun();
    place = make('div', {class: 'play'});
    main.append(make('h2', {}, 'Play'));
    if (!run) return main.append(make('p', {class: 'soft'}, 'There is no run to play against yet.'));
    let number = run.run, side = values.get('side') || 'first';
    const simulations = make('input', {type: 'number', min: 1, max: 10000, placeholder: 'as evaluated', 'aria-label': 'Simulations a move'});
    main.append(make('div', {class: 'controls'}, runChoice(number, (value) => { number = Number(value); }),
      choice('You play', [['first', 'first'], ['second', 'second'], ['none', 'not: watch']], side, (value) => { side = value; }), control('Simulations', simulations),
      make('button', {type: 'button', id: 'new-game', onclick: safely(() => begin(number, side, Number(simulations.value)))}, 'New game')), place);
    game = values.get('game') === null ? null : Number(values.get('game'));
    known = null;
    if (game !== null) return load().catch(() => { game = null; keep({game: null}); });
    return null;
  }, hide: () => { playing = false; clearTimeout(timer); }, update: (changed, news) => {
    const mine = (news && news.games || []).find((other) => other.game === game);
    if (mine && (!known || known.version !== mine.version || known.busy !== mine.busy)) safely(load)();
  }});
}
