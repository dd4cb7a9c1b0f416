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
})();
