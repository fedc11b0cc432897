// The proof beside a rule: what it would have done in the last days, a conversation with it, and its tests. Each is asked for when nothing was changed for a
// moment, and given up when something is.
import { make } from "./pickers.js";

const pause = 1000; // milliseconds without a change before the console is asked
const busy = 2000; // milliseconds before it is asked again where others try their rules
const page = document.getElementById("write");
const panels = {}; // by the names of their tabs: what they ask for
let studio = null; // the page: ask, reasonOf, ready

// A panel asks for something, one at a time, and gives up what it asked before.
function panel(name, shown, run) {
  let underWay = new AbortController();
  let timer = 0;
  const start = async () => {
    clearTimeout(timer);
    underWay.abort();
    const mine = underWay = new AbortController();
    shown.setAttribute("aria-busy", "true");
    await studio.ready();
    if (mine.signal.aborted) return;
    const answer = await run(mine.signal).catch(() => null);
    if (mine.signal.aborted) return;
    if (answer && (answer.status === 503 || answer.status === 429)) { timer = setTimeout(start, busy); return; }
    shown.setAttribute("aria-busy", "false");
    if (answer && answer.ok) panels[name].show(await answer.json());
    else shown.replaceChildren(make("p", { class: "error", text: await studio.reasonOf(answer) }));
  };
  panels[name] = {
    start,
    stale: true,
    later(after = pause) { underWay.abort(); clearTimeout(timer); timer = setTimeout(start, after); },
    show(answer) { shown.innerHTML = answer.html; },
  };
  return panels[name];
}

const past = document.getElementById("past");
panel("past", past, (signal) => studio.ask("/write/past", {}, undefined, signal));

// isShown reports whether the panel of a tab is seen.
const isShown = (name) => !document.getElementById("panel-" + name).hidden;

// startProof is called once, with what the page can do.
export function startProof(hooks) { studio = hooks; }

// textChanged is called whenever there is another text.
export function textChanged() {
  for (const [name, p] of Object.entries(panels)) {
    if (isShown(name)) p.later();
    else p.stale = true;
  }
}

// tabShown is called when a person opens a tab.
export function tabShown(name) {
  const p = panels[name];
  if (!p) return;
  const shown = document.getElementById(name === "past" ? "past" : name);
  if (p.stale && shown && !shown.childElementCount) shown.replaceChildren(make("p", { class: "muted", text: page.dataset.waiting }));
  if (p.stale) p.start();
  p.stale = false;
}
