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
    stale: true, // what it shows is of another text
    later(after = pause) { underWay.abort(); clearTimeout(timer); timer = setTimeout(start, after); },
    show(answer) { shown.innerHTML = answer.html; },
  };
  return panels[name];
}

const past = document.getElementById("past");
panel("past", past, (signal) => studio.ask("/write/past", {}, undefined, signal));

// The conversation. The story is kept here; the console tells it, and says what would be seen of it.
const chat = document.getElementById("chat");
const told = document.getElementById("story");
let story = null;
let ours = false; // a person changed the story, so that no other is looked for
let off = false; // it is to be moved to a day off
let redraw = true; // its entries are others than those that are shown

const conversation = panel("story", chat, (signal) => {
  const more = ours ? { story: JSON.stringify(story) } : {};
  if (off) more.off = "yes";
  return studio.ask("/write/story", more, undefined, signal);
});
conversation.show = (answer) => {
  chat.innerHTML = answer.chat;
  if (!answer.story || (ours && !redraw)) return;
  story = answer.story;
  redraw = off = false;
  const again = told.contains(document.activeElement) ? document.activeElement.dataset : null;
  told.innerHTML = answer.entries;
  drawLine();
  document.querySelector(".record").hidden = false;
  if (again?.add !== undefined) told.querySelector(`[data-add="${CSS.escape(again.add)}"]`)?.focus();
  else if (again) told.querySelector("input")?.focus();
};

// Times are those of the desk, without a zone: they are counted in minutes as if it had none.
const minutes = (local) => Math.round(Date.parse(local + "Z") / 60000);
const local = (n) => new Date(n * 60000).toISOString().slice(0, 16);
const spoken = (n) => new Intl.DateTimeFormat(document.documentElement.lang, { weekday: "short", hour: "2-digit", minute: "2-digit", hourCycle: "h23", timeZone: "UTC" }).format(new Date(n * 60000));
const timeOf = (i) => minutes(i === "end" ? story.until : story.entries[i].at);

// bounds are the two ends of the line: a while before the first thing, and the end of the story.
function bounds() {
  const times = story.entries.map((e) => minutes(e.at));
  const end = Math.max(minutes(story.until), ...times);
  const first = Math.min(end - 1, ...times);
  return [first - Math.max(15, Math.round((end - first) * 0.15)), end + Math.max(15, Math.round((end - first) * 0.1))];
}

let span = [0, 1];
function drawLine() {
  span = bounds();
  told.querySelectorAll(".scale span").forEach((e, i) => { e.textContent = spoken(span[i]); });
  told.querySelectorAll(".grip").forEach(placeGrip);
}

function placeGrip(grip) {
  const at = timeOf(grip.dataset.i);
  grip.style.left = (100 * (at - span[0])) / (span[1] - span[0]) + "%";
  for (const [name, value] of Object.entries({ valuemin: span[0], valuemax: span[1], valuenow: at, valuetext: spoken(at) })) grip.setAttribute("aria-" + name, value);
}

// setTime moves one thing of the story to another time.
function setTime(i, at, after) {
  if (Number.isNaN(at)) return;
  ours = true;
  if (i === "end") story.until = local(Math.max(at, ...story.entries.map((e) => minutes(e.at))));
  else story.entries[i].at = local(at);
  if (i !== "end" && at > minutes(story.until)) story.until = local(at + 30);
  told.querySelectorAll("li[data-i]").forEach((li) => {
    const input = li.querySelector('[type="datetime-local"]');
    const value = li.dataset.i === "end" ? story.until : story.entries[li.dataset.i].at;
    if (input.value !== value) input.value = value;
  });
  told.querySelectorAll(".grip").forEach(placeGrip);
  const line = told.querySelector(".timeline");
  const what = told.querySelector(`.grip[data-i="${i}"]`).getAttribute("aria-label");
  line.querySelector(".ask").textContent = line.dataset.ask.replace("%s", what).replace("%s", spoken(timeOf(i)));
  conversation.later(after);
}

told.addEventListener("pointerdown", (event) => {
  const grip = event.target.closest(".grip");
  if (!grip) return;
  event.preventDefault();
  grip.focus();
  grip.setPointerCapture(event.pointerId);
  const box = grip.parentElement.getBoundingClientRect();
  const step = span[1] - span[0] > 720 ? 5 : 1;
  const move = (e) => {
    const share = Math.min(1, Math.max(0, (e.clientX - box.left) / box.width));
    setTime(grip.dataset.i, Math.round((span[0] + share * (span[1] - span[0])) / step) * step, 150);
  };
  const end = () => {
    grip.removeEventListener("pointermove", move);
    drawLine();
  };
  grip.addEventListener("pointermove", move);
  grip.addEventListener("lostpointercapture", end, { once: true });
});
told.addEventListener("keydown", (event) => {
  const grip = event.target.closest(".grip");
  const by = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageDown: -60, PageUp: 60 }[event.key];
  if (!grip || !by) return;
  event.preventDefault();
  setTime(grip.dataset.i, timeOf(grip.dataset.i) + by, 150);
  drawLine();
});
told.addEventListener("change", (event) => {
  const { story: field, label } = event.target.dataset;
  const i = event.target.closest("li")?.dataset.i;
  if (label !== undefined) story.labels = story.labels.filter((l) => l !== label).concat(event.target.checked ? [label] : []);
  else if (field === "customer") story.customer = event.target.value;
  else if (field === "text") story.entries[i].text = event.target.value;
  else if (field) {
    setTime(i, minutes(event.target.value), 0);
    return drawLine();
  } else return;
  ours = true;
  conversation.later(0);
});
told.addEventListener("click", (event) => {
  const { add, drop } = event.target.dataset;
  if (add === undefined && drop === undefined) return;
  if (drop !== undefined) story.entries.splice(Number(drop), 1);
  const last = Math.max(...story.entries.map((e) => minutes(e.at)), -Infinity);
  if (add === "time") story.until = local(minutes(story.until) + 1440);
  else if (add === "off") off = true;
  else if (add !== undefined) story.entries.push({ do: add, at: local(Number.isFinite(last) ? last + 10 : minutes(story.until)), text: "" });
  ours = redraw = true;
  conversation.later(0);
});

// The tests. How many pass is seen on the tab, whichever is open.
const tests = document.getElementById("tests");
let faults = false;
const suite = panel("tests", tests, (signal) => studio.ask("/write/tests", faults ? { faults: "yes" } : {}, undefined, signal));
suite.always = true;
suite.show = (answer) => {
  faults = false;
  tests.innerHTML = answer.html;
  const sign = document.getElementById("passed");
  sign.textContent = answer.total ? answer.passed + "/" + answer.total : "";
  sign.className = answer.passed === answer.total ? "passed" : "red";
};
tests.addEventListener("click", async (event) => {
  const { untest, again } = event.target.dataset;
  if (untest !== undefined || again !== undefined) {
    event.target.disabled = true;
    await studio.ready();
    return changedTests(await studio.ask("/write/untest", again === undefined ? { name: untest } : { again }).catch(() => null), tests);
  }
  if (!("faults" in event.target.dataset)) return;
  faults = true;
  event.target.disabled = true;
  suite.start();
});

const recorded = document.getElementById("recorded");
document.getElementById("record").addEventListener("click", async (event) => {
  const button = event.target;
  button.disabled = true;
  await studio.ready();
  const answer = await studio.ask("/write/record", { story: JSON.stringify(story), name: document.getElementById("test-name").value }).catch(() => null);
  button.disabled = false;
  if (await changedTests(answer, recorded)) recorded.replaceChildren(make("span", { class: "fine", text: page.dataset.recorded }));
});

// changedTests shows how the tests come out after one was added or removed, or why it was not.
async function changedTests(answer, told) {
  if (!answer || !answer.ok) {
    told.prepend(make("p", { class: "error", text: await studio.reasonOf(answer) }));
    return false;
  }
  const found = await answer.json();
  suite.show(found);
  if (found.text) studio.setText(found.text);
  return true;
}

// isShown reports whether the panel of a tab is seen.
const isShown = (name) => !document.getElementById("panel-" + name).hidden;

// startProof is called once, with what the page can do.
export function startProof(hooks) { studio = hooks; }

// textChanged is called whenever there is another text.
export function textChanged() {
  for (const [name, p] of Object.entries(panels)) {
    if (p.always || isShown(name)) p.later();
    else p.stale = true;
  }
}

// tabShown is called when a person opens a tab.
function tabShown(name) {
  const p = panels[name];
  if (!p) return;
  const shown = { past, story: chat, tests }[name];
  if (!shown.childElementCount) shown.replaceChildren(make("p", { class: "muted", text: page.dataset.waiting }));
  if (p.stale) p.start();
  p.stale = false;
}

// The tabs, each with what is proven in one way.
const tabs = [...page.querySelectorAll('[role="tab"]')];
export function showTab(name) {
  for (const tab of tabs) {
    const is = tab.id === "tab-" + name;
    tab.setAttribute("aria-selected", is);
    tab.tabIndex = is ? 0 : -1;
    document.getElementById(tab.getAttribute("aria-controls")).hidden = !is;
  }
  tabShown(name);
}
tabs.forEach((tab, i) => {
  tab.addEventListener("click", () => showTab(tab.id.slice(4)));
  tab.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const next = tabs[(i + step + tabs.length) % tabs.length];
    next.focus();
    next.click();
  });
});
