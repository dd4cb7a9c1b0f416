// What pages tell at their edges: how many schedules fail in the title and the icon, and
// the exact instant of a relative time on hover and focus.
"use strict";
(() => {
  // Failing schedules: asked for again with what the page updates, at most every ten
  // seconds.
  const every = 10000;
  const icon = document.querySelector("link[rel=icon]");
  let prefix = document.getElementById("failing")?.dataset.prefix || "";
  const title = document.title.slice(prefix.length);
  let last = Date.now(), asking = false;
  document.addEventListener("live:updated", async () => {
    const was = document.getElementById("failing");
    if (!was || asking || Date.now() - last < every) return;
    asking = true;
    last = Date.now();
    try {
      const answer = await fetch(was.dataset.source, { headers: { "HX-Request": "true" }, signal: AbortSignal.timeout(15000) });
      if (answer.status !== 200) return;
      const now = new DOMParser().parseFromString(await answer.text(), "text/html").getElementById("failing");
      if (!now || now.isEqualNode(was)) return;
      was.replaceWith(now);
      prefix = now.dataset.prefix;
      document.title = prefix + title;
      if (icon) icon.href = now.dataset.icon || icon.dataset.usual;
    } catch { /* the next update asks again */ } finally {
      asking = false;
    }
  });

  // Exact times: a time shows its instant on hover. So does the focus: on the time, or on
  // a link of the same row, whose times are then listed.
  const tip = document.createElement("div");
  tip.id = "exact";
  tip.className = "exact";
  tip.role = "tooltip";
  tip.hidden = true;
  (document.getElementById("main") || document.body).append(tip);
  let owner = null, hiding = 0;
  const times = "time[data-exact]";
  const hide = () => {
    clearTimeout(hiding);
    if (!owner) return;
    owner.removeAttribute("aria-describedby");
    owner = null;
    tip.hidden = true;
  };
  const show = (at, lines, beside = at) => {
    hide();
    if (!lines.length || at.hasAttribute("aria-describedby")) return;
    owner = at;
    tip.replaceChildren(...lines.map((line) => { const e = document.createElement("div"); e.textContent = line; return e; }));
    tip.hidden = false;
    at.setAttribute("aria-describedby", tip.id);
    const place = beside.getBoundingClientRect(), size = tip.getBoundingClientRect();
    const below = place.bottom + size.height + 8 < innerHeight;
    tip.style.left = Math.max(8, Math.min(place.left, innerWidth - size.width - 8)) + scrollX + "px";
    tip.style.top = (below ? place.bottom + 4 : place.top - size.height - 4) + scrollY + "px";
  };
  const named = (time) => {
    const cell = time.closest("[data-label]");
    return (cell ? cell.dataset.label + ": " : "") + time.dataset.exact;
  };
  document.addEventListener("pointerover", (event) => {
    const time = event.target.closest?.(times);
    if (time) {
      time.removeAttribute("title"); // the browser would show it too
      show(time, [time.dataset.exact]);
      return;
    }
    if (event.target.closest?.("#exact")) { clearTimeout(hiding); return; }
    if (owner?.matches(times) && owner !== document.activeElement) { clearTimeout(hiding); hiding = setTimeout(hide, 200); }
  });
  document.addEventListener("focusin", (event) => {
    const e = event.target;
    if (!e.matches?.(":focus-visible")) return;
    if (e.matches(times)) { show(e, [e.dataset.exact]); return; }
    const row = e.closest("tr, summary, .timeline > li, .briefs > li");
    const all = row ? [...row.querySelectorAll(times)] : [];
    if (all.length) show(e, all.map(named), all[0]);
  });
  document.addEventListener("focusout", hide);
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") hide(); });
  // Times outside of such rows take the focus themselves.
  const focusable = () => {
    for (const time of document.querySelectorAll(times)) {
      const row = time.closest("tr, summary, .timeline > li, .briefs > li, a, button");
      const own = !row || !row.matches("a, button") && !row.querySelector("a[href], button, summary, input") && row.localName !== "summary";
      if (own) time.tabIndex = 0;
    }
  };
  focusable();
  document.addEventListener("live:updated", () => {
    focusable();
    if (!owner) return;
    if (owner.isConnected) owner.setAttribute("aria-describedby", tip.id); // the merged answer has no such attribute
    else hide();
  });
  document.addEventListener("detail:loaded", focusable);

  // Toasts: closed without loading the page again.
  document.addEventListener("click", (event) => {
    const link = event.target.closest("[data-close]");
    if (!link) return;
    event.preventDefault();
    document.getElementById(link.dataset.close)?.remove();
    document.getElementById("main")?.focus();
  });
  const toast = document.querySelector("#toast > div");
  const say = document.getElementById("say");
  if (toast && say) say.textContent = toast.textContent;
})();
