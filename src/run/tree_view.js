// The view of a search tree: `cumindTree(element, tree)` fills an element with the tree that run/outline_json.h has written. A tree of
// the pattern of WAI-ARIA, by arrows, Home, End, Enter, * and first letters; the principal variation is open at first. Hovering or
// focusing a node tells its numbers next to the tree. Looks are those of tree_view.css; nothing is loaded, and no text becomes markup.
'use strict';
function cumindTree(element, tree) {
  const SHOWN = 5, MORE = 10, FLAT = 8, NARROW = 4; // children at first, and per "more"; levels that are indented, on narrow screens too
  const count = tree.depth.length, base36 = (text) => parseInt(text, 36);
  const make = (parent, name, className, text) => {
    const made = document.createElement(name);
    if (className) made.className = className;
    if (text !== undefined) made.textContent = text;
    return parent.appendChild(made);
  };

  // ---- the tree as lists ----
  const parent = new Int32Array(count).fill(-1), children = Array.from({length: count}, () => []), last = [];
  tree.depth.forEach((depth, i) => {
    last[depth] = i;
    if (i) children[parent[i] = last[depth - 1]].push(i);
  });
  const hidden = new Map(), chance = new Set(tree.chance), best = new Set([0]);
  for (let i = 0; i < tree.hidden.length; i += 2) hidden.set(tree.hidden[i], tree.hidden[i + 1]);
  for (let i = 0; children[i].length; best.add(i)) i = i === 0 && tree.chosen > 0 ? tree.chosen : children[i][0];

  // ---- words ----
  const minus = (text) => +text === 0 ? text.replace('-', '') : text.replace('-', '\u2212');
  const number = (x) => minus(Math.abs(x) >= 100 ? x.toFixed(0) : Math.abs(x) >= 10 ? x.toFixed(1) : x.toFixed(3));
  const signed = (x) => (x >= 0.0005 ? '+' : '') + number(x);
  const percent = (x) => `${x > 0 && x < 0.095 ? (100 * x).toFixed(1) : Math.round(100 * x)} %`;
  const share = (i) => i ? Math.min(1, tree.visits[i] / Math.max(1, tree.visits[parent[i]] - 1)) : 1;
  const player = (i) => tree.players === 2 ? 'xo'[tree.mover[i]] : '';
  const nameOf = (i) => i ? tree.names[tree.name[i]] : 'start';
  const about = {
    e: 'The game is over here.',
    a: 'After the end of the game: only the model goes on, so there is no board.',
    i: 'The rules do not allow what leads here: only the model plays it, so there is no board.',
    h: 'After the move, before what chance brings.',
    c: 'Chance takes part: which position follows is not known.',
    d: 'The model drew this action; which one it is, and so the board, only the model knows.',
    n: 'This environment cannot play on from a copy of a state: only the model knows what follows.',
    s: 'The board is left out, so that the file stays small.',
  };
  const hasBoard = (i) => 'beh'.includes(tree.kind[i]);
  const labelOf = (i) => [
    i ? `${player(parent[i])} ${nameOf(i)}`.trim() : 'The position that was searched', i && best.has(i) ? 'best line' : '',
    `${tree.visits[i]} visits`, i ? percent(share(i)) : '', i ? `Q ${signed(tree.q[i])}` : '', i ? `prior ${percent(tree.prior[i])}` : '',
    `value ${signed(tree.value[i])}`, i && tree.reward[i] ? `reward ${signed(tree.reward[i])}` : '',
    about[tree.kind[i]] || '',
  ].filter(Boolean).join(', ');

  // ---- boards ----
  const scenes = new Map();
  const sceneOf = (node) => { // of its parent's, which may have to be made of its own parent's first
    const way = [];
    for (let i = node; i >= 0 && !scenes.has(i); i = parent[i]) way.push(i);
    for (const i of way.reverse()) {
      const from = i ? scenes.get(parent[i]) : [], to = [];
      let at = 0;
      for (const [, what, text] of tree.boards.scenes[i].matchAll(/([-=+])([0-9a-z]+)/g)) {
        const n = base36(text);
        if (what === '+') to.push(n);
        if (what === '=') to.push(...from.slice(at, at + n));
        if (what !== '+') at += n;
      }
      scenes.set(i, to.concat(from.slice(at)));
    }
    return scenes.get(node);
  };
  const space = 'http://www.w3.org/2000/svg';
  const shape = (svg, name, attributes) => {
    const made = svg.appendChild(document.createElementNS(space, name));
    for (const key in attributes) made.setAttribute(key, attributes[key]);
    return made;
  };
  const draw = [
    (svg, fill, x, y, width, height, rx) => shape(svg, 'rect', {x, y, width, height, rx, fill}),
    (svg, fill, cx, cy, r) => shape(svg, 'circle', {cx, cy, r, fill}),
    (svg, stroke, x1, y1, x2, y2, w) => shape(svg, 'line', {x1, y1, x2, y2, stroke, 'stroke-width': w, 'stroke-linecap': 'round'}),
    (svg, fill, ...xy) => shape(svg, 'polygon', {points: xy.join(' '), fill}),
    (svg, fill, x, y, size, anchor, text) => {
      shape(svg, 'text', {x, y, 'font-size': size, 'text-anchor': ['start', 'middle', 'end'][anchor], fill}).textContent = text;
    },
  ];
  const colour = (rgb) => `#${rgb.toString(16).padStart(6, '0')}`;
  const fillBoard = (svg, i, isSmall) => {
    for (const id of sceneOf(i)) {
      const [kind, ...rest] = tree.boards.shapes[id];
      if (kind === 5) shape(svg, 'image', {x: rest[0], y: rest[1], width: rest[2], height: rest[3], href: rest[4], preserveAspectRatio: 'none'});
      else if (kind !== 4 || !isSmall || rest[3] > 30) draw[kind](svg, colour(rest[0]), ...rest.slice(1));
    }
  };
  const board = (where, className) => {
    const svg = where.appendChild(document.createElementNS(space, 'svg'));
    svg.setAttribute('viewBox', `0 0 ${tree.boards.width} ${tree.boards.height}`);
    svg.setAttribute('class', className);
    svg.setAttribute('aria-hidden', 'true');
    return svg;
  };
  const seen = new IntersectionObserver((entries) => { // small boards are drawn once they come into sight
    for (const {isIntersecting, target} of entries) {
      if (!isIntersecting) continue;
      seen.unobserve(target);
      fillBoard(target, +target.closest('[data-node]').dataset.node, true);
    }
  });

  // ---- what stands around ----
  element.replaceChildren();
  element.classList.add('tree-view');
  const left = make(element, 'div', 'tree-left'), head = make(left, 'div', 'tree-row tree-head');
  head.setAttribute('aria-hidden', 'true');
  for (const [name, text] of [['name', 'Move'], ['visits', 'Visits'], ['q', 'Q'], ['prior', 'Prior'], ['value', 'Value']]) make(head, 'span', `tree-${name}`, text);
  const root = make(left, 'ul', 'tree'), detail = make(element, 'aside', 'tree-detail');
  root.setAttribute('role', 'tree');
  root.setAttribute('aria-label', `Search tree of ${tree.task}`);
  detail.setAttribute('aria-label', 'The node');

  // ---- the numbers of a node ----
  const pathOf = (i) => {
    const names = [];
    for (; i > 0; i = parent[i]) names.unshift(`${player(parent[i])} ${nameOf(i)}`.trim());
    return names;
  };
  const tell = (i) => {
    const path = pathOf(i), rest = hidden.has(i) || !children[i].length ? 0 : 1 - children[i].reduce((sum, c) => sum + tree.prior[c], 0);
    detail.replaceChildren();
    const picture = make(detail, 'div', 'tree-picture');
    picture.style.aspectRatio = `${tree.boards.width} / ${tree.boards.height}`;
    if (hasBoard(i)) fillBoard(board(picture, 'tree-board'), i, false);
    else make(picture, 'p', 'tree-none', about[tree.kind[i]]);
    const facts = make(detail, 'div', 'tree-facts');
    make(facts, 'h2', '', path.length ? (path.length > 6 ? '\u2026 ' : '') + path.slice(-6).join(', ') : 'The position that was searched');
    const list = make(facts, 'dl');
    const fact = (name, text) => { make(list, 'dt', '', name); make(list, 'dd', '', text); };
    fact('Visits (N)', i ? `${tree.visits[i]} (${percent(share(i))})` : tree.visits[i]);
    if (i) fact('Q', signed(tree.q[i]));
    if (i) fact('Prior', percent(tree.prior[i]));
    fact('Value', signed(tree.value[i]));
    if (!i) fact('Mean of returns', signed(tree.mean));
    if (i) fact('Reward', signed(tree.reward[i]));
    if (rest > 0.0005) fact('Not visited', `${percent(rest)} of the prior`);
    if (tree.players === 2 && tree.kind[i] !== 'e') fact('To move', player(i));
    if (about[tree.kind[i]] && hasBoard(i)) make(facts, 'p', 'tree-note', about[tree.kind[i]]);
  };

  // ---- items ----
  const itemOf = new Map();
  let current = null;
  const addItem = (group, node, level) => {
    const item = make(group, 'li');
    item.setAttribute('role', 'treeitem');
    item.setAttribute('aria-level', level);
    item.setAttribute('aria-selected', 'false');
    item.tabIndex = -1;
    item.dataset.node = node;
    return item;
  };
  const addNode = (group, i) => {
    const item = addItem(group, i, tree.depth[i] + 1), row = make(item, 'div', 'tree-row'), name = make(row, 'span', 'tree-name');
    item.setAttribute('aria-label', labelOf(i));
    if (children[i].length || hidden.has(i)) item.setAttribute('aria-expanded', 'false');
    make(name, 'span', 'tree-turn');
    const picture = make(name, 'span', hasBoard(i) ? 'tree-thumb' : 'tree-thumb tree-unknown', hasBoard(i) ? undefined : '?');
    if (hasBoard(i)) seen.observe(board(picture, ''));
    if (tree.depth[i] > NARROW) make(name, 'span', tree.depth[i] > FLAT ? 'tree-depth' : 'tree-depth tree-narrow', tree.depth[i]);
    if (i && player(parent[i])) make(name, 'span', 'tree-who', player(parent[i]));
    make(name, best.has(i) ? 'b' : 'span', 'tree-move', nameOf(i));
    const visits = make(row, 'span', 'tree-visits'), bar = make(make(visits, 'span', 'tree-track'), 'span', 'tree-bar');
    bar.style.width = `${100 * share(i)}%`;
    make(visits, 'span', 'tree-n', tree.visits[i]);
    make(row, 'span', 'tree-q', i ? signed(tree.q[i]) : '');
    make(row, 'span', 'tree-prior', i ? percent(tree.prior[i]) : '');
    make(row, 'span', 'tree-value', signed(tree.value[i]));
    if (best.has(i)) item.classList.add('tree-best');
    itemOf.set(i, item);
  };
  const numberItems = (group) => [...group.children].forEach((item, k, all) => {
    item.setAttribute('aria-posinset', k + 1);
    item.setAttribute('aria-setsize', all.length);
  });
  const addChildren = (group, i, from, most) => {
    const to = Math.min(children[i].length, from + most), left = children[i].length - to;
    for (const child of children[i].slice(from, to)) addNode(group, child);
    const note = left ? `${left} more` : hidden.has(i) ? `${hidden.get(i)} more, with few visits, are not in the file` : '';
    if (note) {
      const item = addItem(group, i, tree.depth[i] + 2);
      item.classList.add('tree-more');
      make(make(item, 'div', 'tree-row'), 'span', 'tree-name', note);
      if (left) item.dataset.from = to;
    }
    numberItems(group);
  };
  const isOpen = (item) => item.getAttribute('aria-expanded') === 'true', isShut = (item) => item.getAttribute('aria-expanded') === 'false';
  const open = (item) => {
    if (!isShut(item)) return;
    const i = +item.dataset.node;
    item.setAttribute('aria-expanded', 'true');
    let group = item.querySelector(':scope > ul');
    if (!group) {
      group = make(item, 'ul', tree.depth[i] + 1 > FLAT ? 'tree-flat' : tree.depth[i] + 1 > NARROW ? 'tree-narrow' : '');
      group.setAttribute('role', 'group');
      addChildren(group, i, 0, SHOWN);
    }
    group.hidden = false;
  };
  const shut = (item) => {
    if (!isOpen(item)) return;
    item.setAttribute('aria-expanded', 'false');
    item.querySelector(':scope > ul').hidden = true;
  };
  const toggle = (item) => {
    if (item.dataset.from) {
      const group = item.parentElement, next = group.children.length - 1;
      item.remove();
      addChildren(group, +item.dataset.node, +item.dataset.from, MORE);
      choose(group.children[next], true);
    } else if (isOpen(item)) shut(item);
    else open(item);
  };
  const choose = (item, hasFocus) => {
    if (current) { current.tabIndex = -1; current.setAttribute('aria-selected', 'false'); }
    current = item;
    item.tabIndex = 0;
    item.setAttribute('aria-selected', 'true');
    tell(+item.dataset.node);
    if (hasFocus) item.focus();
  };

  // ---- keys and pointers ----
  const visible = () => [...root.querySelectorAll('li')].filter((item) => !item.closest('ul[hidden]'));
  const step = (by) => {
    const items = visible(), at = items.indexOf(current) + by;
    if (items[at]) choose(items[at], true);
  };
  const above = (item) => item.parentElement.closest('li');
  const find = (letter) => {
    const items = visible(), at = items.indexOf(current), round = items.slice(at + 1).concat(items.slice(0, at));
    const found = round.find((item) => !item.matches('.tree-more') && nameOf(+item.dataset.node).toLowerCase().startsWith(letter));
    if (found) choose(found, true);
  };
  const keys = {
    ArrowDown: () => step(1),
    ArrowUp: () => step(-1),
    ArrowRight: () => { if (isShut(current)) open(current); else if (isOpen(current)) step(1); },
    ArrowLeft: () => { if (isOpen(current)) shut(current); else if (above(current)) choose(above(current), true); },
    Home: () => choose(visible()[0], true),
    End: () => choose(visible().pop(), true),
    Enter: () => toggle(current),
    ' ': () => toggle(current),
    '*': () => [...current.parentElement.children].forEach(open),
  };
  root.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const key = keys[event.key];
    if (!key && event.key.length !== 1) return;
    event.preventDefault();
    if (key) key();
    else find(event.key.toLowerCase());
  });
  root.addEventListener('click', (event) => {
    const item = event.target.closest('li'), wasCurrent = item === current;
    if (!item) return;
    choose(item, true);
    if (wasCurrent || item.dataset.from || event.target.closest('.tree-turn')) toggle(item);
  });
  root.addEventListener('focusin', (event) => { if (event.target !== current && event.target.matches('li')) choose(event.target, false); });
  root.addEventListener('mouseover', (event) => {
    const item = event.target.closest('li');
    if (item) tell(+item.dataset.node);
  });
  root.addEventListener('mouseleave', () => tell(+current.dataset.node));

  addNode(root, 0);
  numberItems(root);
  for (const i of best) if (itemOf.has(i)) open(itemOf.get(i)); // each opens the one that the next stands in
  choose(itemOf.get(0), false);
}
