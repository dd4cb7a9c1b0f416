// Try it: sends the calls of the reference that only read, with a key that the reader
// enters, or for whoever is signed in to the dashboard. The key stays in this page: it is
// not stored, and no cookie goes with it. The API accepts no cookies: calls without a key
// go to the dashboard, below /try. Without this script the page has the commands.
"use strict";
(() => {
  const longest = 64 << 10; // of what is shown of a response, in characters
  const streams = ["/api/events", "/api/listen"]; // they don't end
  let key = "", session;

  // Returns who is signed in to the dashboard; null for nobody.
  function signedIn() {
    session ??= fetch("/try", { headers: { "punctual-try": "1" }, cache: "no-store" })
      .then((answer) => answer.status === 200 ? answer.json() : null, () => null);
    return session;
  }

  function element(name, text, attributes = {}) {
    const e = document.createElement(name);
    if (text) e.textContent = text;
    for (const [k, value] of Object.entries(attributes)) e.setAttribute(k, value);
    return e;
  }

  // Reads the beginning of a response; an event stream doesn't end by itself.
  async function read(answer, signal) {
    const reader = answer.body?.getReader();
    if (!reader) return "";
    const decoder = new TextDecoder();
    let text = "";
    try {
      while (text.length < longest && !signal.aborted) {
        const { done, value } = await reader.read();
        if (done) return text + decoder.decode();
        text += decoder.decode(value, { stream: true });
      }
    } catch (problem) {
      if (!signal.aborted) throw problem;
    }
    reader.cancel().catch(() => {});
    return text.slice(0, longest) + "\n… the rest is not shown";
  }

  function pretty(text) {
    try { return JSON.stringify(JSON.parse(text), null, 2); } catch { return text; }
  }

  function field(box, id, label, attributes) {
    const input = element("input", "", { id, autocomplete: "off", spellcheck: "false", ...attributes });
    box.append(element("label", label, { for: id }), input);
    return input;
  }

  function form(article, path, open, person) {
    const box = element("div", "", { class: "try-form" });
    if (person) {
      const who = element("p", "You are signed in as ", { class: "try-who" });
      who.append(element("b", person.person), person.account === person.person ? "" : " in " + person.account,
        " (" + person.role + "). Leave the key empty to call as yourself; credentials in the response are masked.");
      box.append(who);
    }
    const secret = open ? null : field(box, "try-key-" + article.id, person ? "API key (optional)" : "API key", { type: "password", autocomplete: "new-password", placeholder: "sk_…", maxlength: "500" });
    if (secret) secret.value = key;
    const parts = [...path.matchAll(/\{([^}]+)\}/g)].map((m) => [m[0], field(box, "try-" + m[1] + "-" + article.id, m[1], { maxlength: "2000" })]);
    const query = field(box, "try-query-" + article.id, "Query", { placeholder: "limit=5", maxlength: "4000" });
    const send = element("button", "Send", { type: "button" });
    const status = element("p", "", { role: "status" });
    const result = element("pre", "", { tabindex: "0", hidden: "" });
    result.setAttribute("role", "region");
    result.setAttribute("aria-label", "Response");
    box.append(send, status, result);

    async function call() {
      if (send.disabled) return;
      let at = path;
      for (const [name, input] of parts) {
        if (!input.value.trim()) { status.textContent = "Enter " + name.slice(1, -1) + "."; input.focus(); return; }
        at = at.replace(name, () => encodeURIComponent(input.value.trim()));
      }
      if (secret) key = secret.value.trim();
      if (secret && !key && !person) { status.textContent = "Enter a key. It is kept only in this page."; secret.focus(); return; }
      const text = query.value.trim().replace(/^\?/, "");
      if (/(^|[=&])sk_/.test(text)) { status.textContent = "A key does not belong in an address: it would be logged. Enter it above."; query.focus(); return; }
      send.disabled = true;
      result.hidden = true;
      status.textContent = "Sending…";
      const signal = AbortSignal.timeout(10000), begun = performance.now();
      try {
        const asPerson = secret && !key;
        const answer = await fetch((asPerson ? "/try" : "") + at + (text && "?" + text), {
          signal, credentials: asPerson ? "same-origin" : "omit", cache: "no-store", redirect: "error",
          headers: asPerson ? { "punctual-try": "1" } : key && secret ? { authorization: "Bearer " + key } : {},
        });
        const took = Math.round(performance.now() - begun);
        if (asPerson && answer.status === 401) {
          session = undefined;
          status.textContent = "Your session has ended. Sign in again, or enter a key.";
          return;
        }
        const body = await read(answer, signal);
        status.textContent = answer.status + " " + answer.statusText + ", " + took + " ms";
        result.textContent = pretty(body);
        result.hidden = body === "";
      } catch (problem) {
        status.textContent = signal.aborted ? "No response in 10 seconds." : "The call failed: " + problem.message;
      } finally {
        send.disabled = false;
      }
    }
    send.addEventListener("click", call);
    box.addEventListener("keydown", (event) => { if (event.key === "Enter" && event.target.tagName === "INPUT") call(); });
    return box;
  }

  for (const line of document.querySelectorAll("article > .call")) {
    const method = line.querySelector(".m.GET"), path = line.querySelector("code");
    if (!method || !path || !path.textContent.startsWith("/") || streams.includes(path.textContent)) continue;
    const article = line.parentElement;
    const details = element("details", "", { class: "try" });
    details.append(element("summary", "Try it"));
    details.addEventListener("toggle", async () => {
      if (!details.open || details.dataset.begun) return;
      details.dataset.begun = "true";
      const open = line.textContent.includes("no credentials");
      const person = open ? null : await signedIn();
      details.append(form(article, path.textContent, open, person));
      (details.querySelector(person ? "input:not([type=password])" : "input")).focus();
    });
    line.after(details);
  }
})();
