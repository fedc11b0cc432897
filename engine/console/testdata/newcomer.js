// What a person sees of a page: things by their words. It is there on every page that a newcomer opens.
(() => {
  let waiting = 0; // answers that change what is seen
  const ask = window.fetch;
  window.fetch = (path, ...rest) => {
    if (!/^\/write\/(edit|check|choices)/.test(path)) return ask(path, ...rest);
    waiting++;
    return ask(path, ...rest).finally(() => setTimeout(() => waiting--, 50));
  };
  const tidy = (text) => (text || "").replace(/\s+/g, " ").trim();
  const isSeen = (e) => e.checkVisibility({ visibilityProperty: true, contentVisibilityAuto: false }) && e.getClientRects().length > 0;
  const layer = () => document.querySelector("dialog[open]") || document;
  const spoken = (e) => [e.getAttribute("aria-label"), e.labels?.[0]?.childNodes[0].textContent, e.matches("input, select, textarea") ? null : e.textContent].map(tidy);
  const among = (selector, words, within) => [...(within || layer()).querySelectorAll(selector)].filter((e) => isSeen(e) && !e.closest(".side, .tabbar") && spoken(e).includes(words));
  const one = (list, n) => (n < 0 ? (list.length === 1 ? list[0] : null) : list[n]) || null;
  const cardOf = (words) => [...document.querySelectorAll("#rail [data-at]")].filter((e) => tidy(e.querySelector(":scope > .card > .inside > .say")?.textContent).includes(words))[0];
  const stops = () => [...layer().querySelectorAll("a[href], button, input, select, textarea, summary, [contenteditable=true], [tabindex]")].filter((e) => e.tabIndex >= 0 && !e.disabled && isSeen(e) && !(e.type === "radio" && !e.checked) && !(e.type === "hidden"));
  window.page = {
    isCalm: () => !waiting,
    button: (words, n) => one(among("button, summary, a[href], [role=tab], .seg span", words), n),
    field: (words, n) => one(among("input, select, textarea, [contenteditable=true]", words), n),
    option: (words) => one(among("[role=option]", words), 0),
    above: (card) => cardOf(card)?.querySelector(":scope > .plus"),
    // spot is where somebody would point at, when the page has come to rest. What covers it is told instead.
    async spot(e) {
      const place = () => e.getClientRects()[0] || { x: 0, y: 0, width: 0, height: 0 };
      if (e.matches("[role=option]")) e.scrollIntoView({ block: "nearest", behavior: "instant" });
      for (let before = null, now = place(); !before || before.x !== now.x || before.y !== now.y; before = now, now = place()) {
        if (now.y < 80 || now.y + now.height > innerHeight - 180) e.scrollIntoView({ block: e.matches("[role=option]") ? "nearest" : "center", behavior: "instant" });
        await new Promise((done) => setTimeout(done, 60));
      }
      if (!e.isConnected) return { gone: true };
      const [x, y] = [place().x + place().width / 2, place().y + place().height / 2];
      const at = document.elementFromPoint(x, y);
      return at && (e.contains(at) || at.contains(e) && at.closest("label, button")) ? { x, y } : { covered: at ? at.outerHTML.slice(0, 200) : "the edge of the screen" };
    },
    // away is how many times Tab has to be pressed to get to something; less than nothing is backwards.
    away(e) {
      const list = stops();
      const at = list.indexOf(document.activeElement);
      const to = list.indexOf(e);
      if (to < 0) return null;
      if (at >= 0) return to - at;
      return list.findIndex((s) => document.activeElement.compareDocumentPosition(s) & Node.DOCUMENT_POSITION_FOLLOWING) < 0 || document.activeElement === document.body ? to + 1 : to - list.findIndex((s) => document.activeElement.compareDocumentPosition(s) & Node.DOCUMENT_POSITION_FOLLOWING) + 1;
    },
    hasCursor: () => document.activeElement.matches("input:not([type=radio]):not([type=checkbox]), textarea, [contenteditable=true]"),
    typed: () => document.activeElement.value ?? document.activeElement.innerText,
  };
})();
