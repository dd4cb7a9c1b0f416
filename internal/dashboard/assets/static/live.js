// Live parts: an element with data-live, the address of an event stream, is fetched
// again from data-part after an event. The answer is merged into the page, so that
// focus, selections, checked boxes and open details stay. Pages work without this
// script, but don't update.
"use strict";
(() => {
  const every = 1000; // milliseconds between updates
  const patience = 1500; // milliseconds without a connection before the page says so
  const root = document.documentElement;
  const streams = new Map(); // by address
  let last = 0, timer = 0;

  // Merging: elements stay where the new page has the same element at their place.
  // Elements with an id are matched by it.
  const alike = (a, b) => a.nodeType === b.nodeType && a.nodeName === b.nodeName && (a.id || "") === (b.id || "");

  // What the reader is working with stays as it is: a menu or a form that is open,
  // a form that is being sent, and
  // what was loaded into a row that is open.
  const held = "details.confirm[open], details.menu[open], [aria-busy=true], [data-loaded]";

  const attributes = (was, now) => {
    for (const { name } of [...was.attributes]) {
      if (!now.hasAttribute(name) && !(name === "open" && was.localName === "details")) was.removeAttribute(name);
    }
    for (const { name, value } of now.attributes) {
      if (was.getAttribute(name) !== value && !(name === "open" && was.localName === "details")) was.setAttribute(name, value);
    }
  };

  // next returns the first node from one on that a new node can take the place of.
  const next = (from, node, later) => {
    if (node.nodeType !== Node.ELEMENT_NODE) return from && alike(from, node) ? from : null;
    for (let e = from; e; e = e.nextSibling) {
      if (alike(e, node)) return e;
      if (!node.id && e.nodeType === Node.ELEMENT_NODE && later.has(e.id)) return null;
    }
    return null;
  };

  const merge = (was, now) => {
    if (was.isEqualNode(now) || was.nodeType === Node.ELEMENT_NODE && was.matches(held)) return;
    if (was.nodeType !== Node.ELEMENT_NODE) {
      was.nodeValue = now.nodeValue;
      return;
    }
    attributes(was, now);
    const ids = new Set([...now.children].map((e) => e.id).filter(Boolean));
    let at = was.firstChild;
    for (const node of [...now.childNodes]) {
      let match = next(at, node, ids);
      if (!match) {
        match = node.id ? [...was.children].find((e) => alike(e, node)) : null; // it has moved
        was.insertBefore(match || node, at);
        if (match) merge(match, node);
        continue;
      }
      while (at !== match) {
        const gone = at;
        at = at.nextSibling;
        if (!gone.id || !ids.has(gone.id)) gone.remove();
      }
      at = match.nextSibling;
      merge(match, node);
    }
    while (at) {
      const gone = at;
      at = at.nextSibling;
      gone.remove();
    }
  };

  // Connection: the page says when what it shows may be out of date.
  const line = document.getElementById("connection");
  let lostAt = 0, notice = 0;
  const lost = () => {
    if (!line || lostAt) return;
    lostAt = Date.now();
    notice = setTimeout(() => {
      line.querySelector("[data-at]").textContent = new Date(lostAt).toLocaleTimeString("en-GB");
      line.hidden = false;
      root.dataset.staleAt = String(lostAt); // relative times stop, as the states beside them do
    }, patience);
  };
  const found = () => {
    clearTimeout(notice);
    lostAt = 0;
    if (line) line.hidden = true;
    delete root.dataset.staleAt;
  };

  // Updating.
  const busy = new WeakSet();
  const update = async (part) => {
    if (busy.has(part)) return;
    busy.add(part);
    try {
      const answer = await fetch(part.dataset.part, { headers: { "HX-Request": "true" }, signal: AbortSignal.timeout(15000) });
      const to = answer.headers.get("HX-Redirect");
      if (to) {
        location.assign(to);
        return;
      }
      if (!answer.ok) throw new Error("status " + answer.status);
      const text = await answer.text();
      const now = new DOMParser().parseFromString(text, "text/html").body.firstElementChild;
      if (now && part.isConnected) merge(part, now);
      document.dispatchEvent(new CustomEvent("live:updated"));
    } catch {
      soon(5 * every);
    } finally {
      busy.delete(part);
    }
  };
  const refresh = () => {
    timer = 0;
    last = Date.now();
    if (lostAt) return; // the next connection causes an update
    for (const part of document.querySelectorAll("[data-live]")) update(part);
  };
  const soon = (least = 50) => {
    if (!timer && !document.hidden) timer = setTimeout(refresh, Math.max(least, last + every - Date.now()));
  };

  // Streams: one for each address, while the page is visible.
  const open = (at, wait) => {
    // The stream begins with an event if something has changed since the part was
    // rendered. Parts that don't say when are fetched again.
    const since = [...document.querySelectorAll("[data-live]")].filter((e) => e.dataset.live === at).map((e) => e.dataset.since || "").sort()[0];
    const stream = new EventSource(since ? at + "?since=" + encodeURIComponent(since) : at);
    streams.set(at, stream);
    stream.addEventListener("open", () => {
      const again = lostAt || !since;
      wait = every;
      found();
      root.dataset.following = String(Math.round(performance.now()));
      if (again) soon();
    });
    for (const name of ["log", "job", "message"]) stream.addEventListener(name, () => soon());
    stream.addEventListener("error", () => {
      if (streams.get(at) !== stream) return;
      lost();
      if (stream.readyState !== EventSource.CLOSED) return; // the browser tries again
      setTimeout(() => { if (streams.get(at) === stream && !document.hidden) open(at, Math.min(2 * wait, 30 * every)); }, wait);
    });
  };
  const listen = () => {
    const wanted = new Set(document.hidden ? [] : [...document.querySelectorAll("[data-live]")].map((e) => e.dataset.live));
    for (const [at, stream] of streams) {
      if (wanted.has(at)) continue;
      stream.close();
      streams.delete(at);
    }
    for (const at of wanted) if (!streams.has(at)) open(at, every);
  };
  const close = () => {
    for (const stream of streams.values()) stream.close();
    streams.clear();
  };
  document.addEventListener("visibilitychange", () => { listen(); soon(); });
  document.addEventListener("live:updated", listen);
  window.addEventListener("pagehide", () => { clearTimeout(notice); close(); });
  window.addEventListener("pageshow", (event) => { if (event.persisted) { listen(); soon(); } });
  listen();
})();
