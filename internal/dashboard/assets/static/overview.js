// The overview. It works without this script.
"use strict";
(() => {
  // Rows of runs: the arrow keys move between the runs of a schedule and between
  // schedules, of which Tab reaches the latest runs.
  const steps = { ArrowLeft: -1, ArrowRight: 1, Home: -Infinity, End: Infinity };
  document.addEventListener("keydown", (event) => {
    const row = event.target.closest("[data-runs]");
    if (!row || event.ctrlKey || event.metaKey || event.altKey) return;
    const runs = [...row.children], at = runs.indexOf(event.target);
    let to = null;
    if (event.key in steps) {
      to = runs[Math.max(0, Math.min(runs.length - 1, at + steps[event.key]))];
    } else if (event.key === "ArrowUp" || event.key === "ArrowDown") {
      const rows = [...document.querySelectorAll("[data-runs]")];
      const other = rows[rows.indexOf(row) + (event.key === "ArrowUp" ? -1 : 1)];
      to = other && other.children[Math.max(0, other.children.length - (runs.length - at))];
    }
    if (!to) return;
    event.preventDefault();
    to.focus();
  });

  // Charts: the pointer or the arrow keys select a step, whose values are shown, in all
  // charts of the same time. Dragging, or Shift with the arrow keys, selects an
  // interval to zoom to. A click or Enter leads to what a step has.
  const plots = () => [...document.querySelectorAll("[data-plot]")];
  const two = (n) => String(n).padStart(2, "0");
  const day = (d) => d.getUTCDate() + " " + d.toLocaleString("en-GB", { month: "short", timeZone: "UTC" });
  const clock = (d) => two(d.getUTCHours()) + ":" + two(d.getUTCMinutes());
  // What the clocks show in the zone of the page, as a date in UTC.
  const zoneAt = (c, ms) => c.clocks.findLast((z) => z.from <= ms) || c.clocks[0];
  const wall = (c, ms) => new Date(ms + 1000 * zoneAt(c, ms).offset);
  const read = (area) => {
    const { plot, title, counts, start, step, clocks, notes, zoom, open } = area.dataset;
    const series = JSON.parse(plot);
    return { area, title, counts: counts !== undefined, series, zoom, open, clocks: JSON.parse(clocks), start: Number(start), step: Number(step), n: series[0].values.length, notes: notes ? JSON.parse(notes) : null };
  };
  const digits = (v) => v >= 1000 ? Math.round(v).toLocaleString("en-US") : String(Number(v.toPrecision(3)));
  const duration = (ms) => ms === null ? "–" : ms < 1000 ? digits(ms) + " ms" : digits(ms / 1000) + " s";
  const when = (c, i, end = i + 1) => {
    const from = c.start + i * c.step, to = c.start + end * c.step;
    return (Date.now() - from > 864e5 ? day(wall(c, from)) + " " : "") + clock(wall(c, from)) + "–" + clock(wall(c, to)) + " " + zoneAt(c, to).name;
  };
  const lines = (c, i) => {
    const known = c.series.filter((s) => !c.counts || s.values[i] !== null);
    const values = known.map((s) => c.counts ? digits(s.values[i]) + " " + s.name : (c.series.length > 1 ? s.name + " " : "") + duration(s.values[i]));
    return c.notes && c.notes[i] ? [...values, c.notes[i]] : values;
  };

  let at = null; // the selected time, the group of charts and the chart that is used
  let drag = null; // where an interval begins: the chart and the step
  const group = (area) => area.dataset.zoom || area.id;
  const place = (e, share) => { e.style.left = (100 * share).toFixed(2) + "%"; };
  const showIn = (area) => {
    const cursor = area.querySelector(".plot-cursor"), tip = area.querySelector(".plot-tip"), selection = area.querySelector(".plot-selection");
    const c = read(area), i = at && group(area) === at.group ? Math.floor((at.time - c.start) / c.step) : -1;
    cursor.hidden = tip.hidden = i < 0 || i >= c.n;
    selection.hidden = true;
    if (cursor.hidden) return;
    place(cursor, (i + 0.5) / c.n);
    const strong = document.createElement("strong");
    const chosen = drag && drag.id === area.id && drag.step !== i;
    const [first, last] = chosen ? [Math.min(drag.step, i), Math.max(drag.step, i)] : [i, i];
    strong.textContent = when(c, first, last + 1);
    tip.replaceChildren(strong, ...(chosen ? ["Release to zoom"] : lines(c, i)).map((text) => {
      const line = document.createElement("span");
      line.textContent = text;
      return line;
    }));
    const right = i > c.n / 2;
    tip.classList.toggle("left", right);
    place(tip, (i + (right ? 0 : 1)) / c.n);
    if (chosen) {
      selection.hidden = false;
      place(selection, first / c.n);
      selection.style.width = (100 * (last - first + 1) / c.n).toFixed(2) + "%";
    }
    if (area === document.activeElement || area.getAttribute("role") === "slider") {
      area.setAttribute("aria-valuenow", i);
      area.setAttribute("aria-valuetext", [strong.textContent, ...lines(c, i)].join(", "));
    }
  };
  const show = () => plots().forEach(showIn);
  const prepare = () => {
    for (const area of plots()) {
      const c = read(area);
      area.tabIndex = 0;
      for (const [name, value] of Object.entries({ role: "slider", "aria-label": c.title, "aria-valuemin": 0, "aria-valuemax": c.n - 1, "aria-valuenow": c.n - 1, "aria-valuetext": [when(c, c.n - 1), ...lines(c, c.n - 1)].join(", ") })) area.setAttribute(name, value);
    }
    show();
  };
  const stepUnder = (area, event) => {
    const box = area.getBoundingClientRect(), n = read(area).n;
    return Math.max(0, Math.min(n - 1, Math.floor((event.clientX - box.left) / box.width * n)));
  };
  const select = (area, i) => {
    const c = read(area);
    at = { group: group(area), time: c.start + (i + 0.5) * c.step, id: area.id };
    show();
  };
  const stamp = (ms) => new Date(ms).toISOString().slice(0, 19) + "Z";
  const leave = (address, names, c, first, last) => {
    const to = new URL(address, location.href);
    to.searchParams.set(names[0], stamp(c.start + first * c.step));
    to.searchParams.set(names[1], stamp(c.start + last * c.step));
    location.assign(to);
  };
  const zoom = (area, a, b) => { const c = read(area); if (c.zoom) leave(c.zoom, ["from", "to"], c, Math.min(a, b), Math.max(a, b) + 1); };
  const openStep = (area, i) => { const c = read(area); if (c.open) leave(c.open, ["since", "until"], c, i, i + 1); };
  const release = () => {
    if (drag) document.getElementById(drag.id)?.removeAttribute("aria-busy");
    drag = null;
  };

  document.addEventListener("pointermove", (event) => {
    const area = drag && drag.pointer ? document.getElementById(drag.id) : event.target.closest?.("[data-plot]");
    if (area) {
      select(area, stepUnder(area, event));
    } else if (at && event.pointerType === "mouse" && document.activeElement?.id !== at.id) {
      at = null;
      show();
    }
  });
  document.addEventListener("pointerdown", (event) => {
    const area = event.target.closest("[data-plot]");
    if (!area || event.button !== 0) return;
    const i = stepUnder(area, event), shown = at && at.id === area.id && Math.floor((at.time - read(area).start) / read(area).step) === i;
    release();
    drag = { id: area.id, step: i, pointer: true, opens: event.pointerType === "mouse" || shown };
    if (event.pointerType === "mouse" && area.dataset.zoom) area.setAttribute("aria-busy", "true"); // not redrawn meanwhile
    select(area, i);
  });
  document.addEventListener("pointerup", (event) => {
    if (!drag || !drag.pointer) return;
    const area = document.getElementById(drag.id), from = drag.step, opens = drag.opens;
    release();
    if (!area) return;
    const i = stepUnder(area, event);
    if (i !== from) zoom(area, from, i);
    else if (opens && event.target.closest("[data-plot]") === area) openStep(area, i);
    show();
  });
  document.addEventListener("pointercancel", () => { release(); show(); });

  const moves = { ArrowLeft: -1, ArrowRight: 1, ArrowDown: -1, ArrowUp: 1, PageDown: -10, PageUp: 10, Home: -Infinity, End: Infinity };
  document.addEventListener("keydown", (event) => {
    const area = event.target.closest("[data-plot]");
    if (!area || event.ctrlKey || event.metaKey || event.altKey) return;
    const c = read(area), known = at && at.group === group(area), i = known ? Math.floor((at.time - c.start) / c.step) : c.n - 1;
    if (event.key in moves) {
      if (event.shiftKey && area.dataset.zoom) drag ||= { id: area.id, step: i };
      else release();
      select(area, known ? Math.max(0, Math.min(c.n - 1, i + moves[event.key])) : i);
    } else if (event.key === "Enter") {
      const from = drag ? drag.step : i;
      release();
      if (from !== i) zoom(area, from, i); else openStep(area, i);
    } else if (event.key === "Escape") {
      release();
      at = null;
      show();
    } else {
      return;
    }
    event.preventDefault();
  });
  document.addEventListener("focusout", (event) => {
    if (!event.target.closest?.("[data-plot]") || !at) return;
    release();
    at = null;
    show();
  });
  document.addEventListener("focusin", (event) => {
    const area = event.target.closest?.("[data-plot]");
    if (area && area.matches(":focus-visible") && !at) select(area, read(area).n - 1);
  });
  document.addEventListener("live:updated", prepare);
  prepare();

  // The line of the present moves until the ribbon is drawn again.
  const skew = Date.parse(document.documentElement.dataset.now || "") - Date.now() || 0;
  const move = () => {
    const now = Number(document.documentElement.dataset.staleAt || Date.now()) + skew; // see live.js
    for (const e of document.querySelectorAll("[data-now][data-from]")) {
      const share = (now - e.dataset.from) / (e.dataset.to - e.dataset.from);
      if (share < 0 || share > 1) continue;
      const x = (100 * share).toFixed(2) + "%";
      for (const line of e.querySelectorAll("line")) { line.setAttribute("x1", x); line.setAttribute("x2", x); }
      for (const text of e.querySelectorAll("text")) text.setAttribute("x", x);
    }
  };
  setInterval(move, 1000);
})();
