// Try it: sends the calls of the reference that only read, with a key that the reader
// enters. The key stays in this page: it is not stored, and cookies are not sent. Without
// this script the page has the commands.
"use strict";
(() => {
  const longest = 64 << 10; // of what is shown of a response, in characters
  const streams = ["/api/events", "/api/listen"]; // they don't end
  let key = "";

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

  function form(article, path, open) {
    const box = element("div", "", { class: "try-form" });
    const secret = open ? null : field(box, "try-key-" + article.id, "API key", { type: "password", autocomplete: "new-password", placeholder: "sk_…", maxlength: "500" });
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
      if (secret && !key) { status.textContent = "Enter a key. It is kept only in this page."; secret.focus(); return; }
      const text = query.value.trim().replace(/^\?/, "");
      if (/(^|[=&])sk_/.test(text)) { status.textContent = "A key does not belong in an address: it would be logged. Enter it above."; query.focus(); return; }
      send.disabled = true;
      result.hidden = true;
      status.textContent = "Sending…";
      const signal = AbortSignal.timeout(10000), begun = performance.now();
      try {
        const answer = await fetch(at + (text && "?" + text), { signal, credentials: "omit", cache: "no-store", headers: key && secret ? { authorization: "Bearer " + key } : {} });
        const took = Math.round(performance.now() - begun);
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
    details.addEventListener("toggle", () => {
      if (details.open && details.children.length === 1) {
        details.append(form(article, path.textContent, line.textContent.includes("no credentials")));
        details.querySelector("input").focus();
      }
    });
    line.after(details);
  }
})();
