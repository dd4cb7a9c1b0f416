// Rows that open: the detail of an attempt is fetched when its row is opened. Without
// this script the row has a link to it.
"use strict";
(() => {
  const load = async (row) => {
    const body = row.lastElementChild;
    if (!row.open || body.dataset.loaded === row.dataset.detail || body.dataset.loading) return;
    body.dataset.loading = "true";
    try {
      const answer = await fetch(row.dataset.detail, { headers: { "HX-Request": "true" }, signal: AbortSignal.timeout(15000) });
      if (!answer.ok) throw new Error("status " + answer.status);
      const now = new DOMParser().parseFromString(await answer.text(), "text/html").body.firstElementChild;
      if (!now) throw new Error("no detail");
      body.replaceChildren(now);
      body.dataset.loaded = row.dataset.detail; // live.js leaves it alone
      document.dispatchEvent(new CustomEvent("detail:loaded"));
    } catch { /* the link stays */ } finally {
      delete body.dataset.loading;
    }
  };
  document.addEventListener("toggle", (event) => {
    if (event.target.matches?.("details[data-detail]")) load(event.target);
  }, true);
})();
