// Chooses the view by the address, and follows the server's events.
'use strict';
{
  const main = document.querySelector('#main'), live = document.querySelector('#live'), views = document.querySelector('#views');
  const route = (focus) => {
    if (location.hash && !location.hash.startsWith('#/')) return;
    const {name, values} = readAddress(), view = app.views.find((other) => other.name === name) || app.views[0];
    app.chosen = values.get('runs') ?? app.chosen;
    if (app.view && app.view.hide) app.view.hide();
    app.view = view;
    main.replaceChildren();
    document.title = `${view.title} – cumind`;
    views.replaceChildren(...app.views.map((other) => make('a', {href: `#/${other.name}`, 'aria-current': other === view ? 'page' : null}, other.title)));
    safely(view.show)(main);
    if (focus) main.focus();
  };
  const follow = () => {
    const events = new EventSource('/api/events');
    events.onopen = () => setText(live, 'live');
    events.onerror = () => setText(live, 'the server does not answer');
    events.onmessage = (event) => {
      const news = JSON.parse(event.data);
      noteRuns(news.runs);
      if (app.view) safely(app.view.update)(news.runs, news);
    };
  };
  const begin = async () => {
    const [api, list] = await Promise.all([ask('/api'), ask('/api/runs')]);
    app.fields = api.fields;
    noteRuns(list.runs);
    route(false);
    window.addEventListener('hashchange', () => route(true));
    follow();
  };
  safely(begin)();
}
