// The search tree of a game's position, by the view that cumind search --tree has.
'use strict';
{
  let place, game, wanted;
  const load = async () => {
    const {tree, busy, error} = await ask(`/api/games/${game}/tree`);
    if (busy || !app.view || app.view.name !== 'tree') return;
    wanted = false;
    if (error || !tree) return setText(place, error || 'There is no tree.');
    cumindTree(place, tree);
  };
  app.views.push({name: 'tree', title: 'Tree', show: async (main) => {
    game = Number(readAddress().values.get('game') ?? -1);
    place = make('div', {id: 'tree'});
    main.append(make('h2', {}, 'Search tree'));
    if (game < 0) return main.append(make('p', {class: 'soft'}, 'Begin a game in the view Play; its button Search tree shows the tree of the position.'));
    main.append(make('p', {}, make('a', {href: `#/play?game=${game}`}, 'Back to the game')), place);
    setText(place, 'The agent is thinking …');
    wanted = true;
    await ask(`/api/games/${game}`, {do: 'tree'});
    return load();
  }, update: (changed, news) => {
    const mine = (news && news.games || []).find((other) => other.game === game);
    if (wanted && mine && !mine.busy) return load();
    return null;
  }});
}
