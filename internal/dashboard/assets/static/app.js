// Conveniences of the dashboard. Pages work without this script. Data attributes
// select the elements that use it.
"use strict";
(() => {
  const say = (text) => {
    const line = document.getElementById("say");
    if (line) line.textContent = text;
  };

  // Copying: data-copy is the text, data-copy-from the id of an element with it.
  const reveal = (root) => root.querySelectorAll("button[data-copy], button[data-copy-from]").forEach((b) => { b.hidden = !navigator.clipboard; });
  document.addEventListener("click", async (event) => {
    const button = event.target.closest("button[data-copy], button[data-copy-from]");
    if (!button) return;
    const source = button.dataset.copyFrom;
    const text = source ? document.getElementById(source).textContent : button.dataset.copy;
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      say("Copying is not permitted here");
      return;
    }
    say("Copied");
    const label = button.querySelector("span");
    if (!label) return;
    label.textContent = "Copied";
    setTimeout(() => { label.textContent = "Copy"; }, 1500);
  });

  // Relative times: updates the result of ui.Relative, with the server's clock at
  // the time the page was loaded.
  const skew = Date.parse(document.documentElement.dataset.now || "") - Date.now() || 0;
  const two = (large, unit, small, smallUnit) => large + " " + unit + (large < 3 && small > 0 ? " " + small + " " + smallUnit : "");
  const span = (s) => {
    const m = Math.floor(s / 60), h = Math.floor(s / 3600), d = Math.floor(s / 86400);
    if (s < 60) return Math.floor(s) + " s";
    if (m < 60) return m + " min";
    if (h < 24) return two(h, "h", m % 60, "min");
    if (d < 60) return two(d, "d", h % 24, "h");
    return d < 730 ? Math.floor(d / 30) + " months" : Math.floor(d / 365) + " years";
  };
  const tick = () => {
    const now = Date.now() + skew;
    for (const e of document.querySelectorAll("[data-relative]")) {
      const s = (Date.parse(e.dataset.relative || e.getAttribute("datetime")) - now) / 1000;
      const words = Math.abs(s) < 1 ? "now" : s > 0 ? "in " + span(s) : span(-s) + " ago";
      if (e.textContent !== words) e.textContent = words;
    }
  };
  setInterval(tick, 1000);

  // Live parts: data-live is the address of an event stream. After an event, the
  // element is fetched again with hx-get and hx-trigger="refresh", at most once a
  // second and only while the page is visible.
  const every = 1000;
  const streams = new Map();
  let last = 0, timer = 0;
  const refresh = () => {
    timer = 0;
    last = Date.now();
    for (const e of document.querySelectorAll("[data-live]")) {
      if (!e.contains(document.activeElement) || !document.activeElement.matches("input:not([type=checkbox]), textarea, select")) htmx.trigger(e, "refresh");
    }
  };
  const soon = () => {
    if (!timer && !document.hidden) timer = setTimeout(refresh, Math.max(50, last + every - Date.now()));
  };
  const listen = () => {
    const wanted = new Set(document.hidden ? [] : [...document.querySelectorAll("[data-live]")].map((e) => e.dataset.live));
    for (const [at, stream] of streams) {
      if (!wanted.has(at)) { stream.close(); streams.delete(at); }
    }
    for (const at of wanted) {
      if (streams.has(at)) continue;
      const stream = new EventSource(at);
      // Changes between loading the page and opening the stream cause no event.
      for (const name of ["open", "log", "job", "message"]) stream.addEventListener(name, soon);
      streams.set(at, stream);
    }
  };
  document.addEventListener("visibilitychange", () => { listen(); soon(); });
  window.addEventListener("pagehide", () => { for (const s of streams.values()) s.close(); streams.clear(); });
  window.addEventListener("pageshow", (event) => { if (event.persisted) { listen(); soon(); } });

  // Checked boxes and open details stay so when a live part is replaced.
  let kept = null;
  document.addEventListener("htmx:beforeSwap", (event) => {
    const target = event.detail.target;
    if (!target) return;
    kept = {
      ticked: new Set([...target.querySelectorAll("input[type=checkbox][id]:checked")].map((e) => e.id)),
      open: new Set([...target.querySelectorAll("details[id][open]")].map((e) => e.id)),
    };
  });
  document.addEventListener("htmx:afterSwap", () => {
    if (!kept) return;
    for (const id of kept.ticked) { const e = document.getElementById(id); if (e) e.checked = true; }
    for (const id of kept.open) { const e = document.getElementById(id); if (e) e.open = true; }
    kept = null;
    count();
  });
  document.addEventListener("htmx:afterSettle", () => { reveal(document); tick(); listen(); zones(document); });

  // Selecting rows: the checkbox data-pick-all selects all rows of a form,
  // data-picked shows how many are selected, and elements with data-when-picked
  // are shown while any is.
  const count = () => {
    for (const form of document.querySelectorAll("form[data-picks]")) {
      const boxes = [...form.elements].filter((e) => e.name === form.dataset.picks);
      const n = boxes.filter((e) => e.checked).length;
      const all = form.querySelector("[data-pick-all]");
      if (all) { all.checked = n > 0 && n === boxes.length; all.indeterminate = n > 0 && n < boxes.length; }
      form.querySelectorAll("[data-picked]").forEach((e) => { e.textContent = n; });
      form.querySelectorAll("[data-when-picked]").forEach((e) => { e.hidden = n === 0; });
    }
  };
  document.addEventListener("change", (event) => {
    const all = event.target.closest("[data-pick-all]");
    if (all) for (const e of all.form.elements) if (e.name === all.form.dataset.picks) e.checked = all.checked;
    count();
  });

  // A double click submits a form only once.
  const sent = new WeakMap();
  document.addEventListener("submit", (event) => {
    if (Date.now() - (sent.get(event.target) || 0) < 1500) event.preventDefault();
    else sent.set(event.target, Date.now());
  });

  // Checks JSON while it is typed. The server checks it again.
  document.addEventListener("input", (event) => {
    const area = event.target.closest("textarea[data-json]");
    if (!area) return;
    const line = document.getElementById(area.dataset.json);
    let text = "";
    if (area.value.trim() !== "") {
      try { JSON.parse(area.value); } catch (problem) { text = "Not JSON yet: " + problem.message; }
    }
    if (line) line.textContent = text;
  });

  // Escape and a click elsewhere close menus and confirmations.
  const folds = "details.menu[open], details.confirm[open]";
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    for (const e of document.querySelectorAll(folds)) { e.open = false; e.querySelector("summary").focus(); }
  });
  document.addEventListener("click", (event) => {
    for (const e of document.querySelectorAll(folds)) if (!e.contains(event.target)) e.open = false;
  });

  // Fields for a time zone are set to the browser's.
  const zones = (root) => {
    const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
    if (zone) for (const e of root.querySelectorAll("input[data-zone]")) if (e.value === "UTC") e.value = zone;
  };

  // Removes ?done= so that reloading the page does not repeat the notice.
  const here = new URL(location.href);
  if (here.searchParams.has("done")) {
    here.searchParams.delete("done");
    history.replaceState(history.state, "", here);
  }
  document.querySelector("[data-focus]")?.focus();
  reveal(document);
  zones(document);
  count();
  listen();
})();
