// One EventSource per page: reconnects with backoff, closes while the tab is hidden, and notices a silent line.
const SILENT = 3, REOPEN = 10;

export function follow(url, {tick, gone, status, reopened}) {
  let source, timer, delay = 500, last = Date.now(), opened = false;
  const received = () => { last = Date.now(); };
  const open = () => {
    clearTimeout(timer);
    source?.close();
    source = new EventSource(url);
    source.onopen = () => { delay = 500; received(); if (opened) reopened?.(); opened = true; };
    source.addEventListener("tick", event => { received(); tick(JSON.parse(event.data)); });
    source.addEventListener("gone", () => { source.close(); gone?.(); });
    source.onerror = () => {  // EventSource does not retry after an HTTP error
      source.close();
      timer = setTimeout(open, delay * (0.7 + 0.6 * Math.random()));
      delay = Math.min(delay * 2, 15000);
    };
  };
  const close = () => { source.close(); clearTimeout(timer); };
  document.addEventListener("visibilitychange", () => { if (document.hidden) close(); else { received(); open(); } });
  addEventListener("pagehide", close);
  setInterval(() => {
    if (document.hidden) return;
    const age = (Date.now() - last) / 1000;
    status(age > SILENT, age);
    if (age > REOPEN && source.readyState === EventSource.OPEN) open();
  }, 500);
  open();
}
