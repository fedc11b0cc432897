// The page on which a rule is read and changed. The console does the work: each thing that a person does is an edit, which goes there with the text and comes back
// as another text, its problems and the rail. This script opens pickers, carries texts back and forth, and keeps what can be undone.
import { closeMenu, grown, keepMenu, movesOf, next, patch, pointTo } from "./rail.js";
import { fillBlock } from "./blocks.js";
import { fold, landed, letGo, onMove, pointAt, shifted, toast, unfold } from "./cards.js";
import { showTab, startProof, textChanged } from "./proof.js";
import { fillBlanks, lists, make, pick, pickOne, term, words } from "./pickers.js";
import { released } from "./press.js";
import { aroundText, closeText, editText, leaveText, pickWords } from "./texts.js";

const page = document.getElementById("write");
const rail = document.getElementById("rail");
const problems = document.getElementById("problems");
const textarea = document.getElementById("text");
const quiet = 300; // milliseconds without a key before the console is asked

let asked = 0; // requests about the text; only the answer to the last one counts
let timer = 0;
let listed = null; // the problems that are shown
let queue = Promise.resolve(); // edits, one after the other
let sending = 0; // edits that are not shown yet
let railName = ""; // what the console calls the rail, which it need not send again
let railText = null; // the text that the rail shows; another one may have been written or gone back to
let refused = false; // something could not be put into the text
let unheard = false; // because nobody answered, or nobody is logged in
let resend = null; // what was not heard
let undone = []; // texts that can be gone back to
let redone = []; // texts that can be gone forward to
let looking = new AbortController();
let changes = { count: 0, words: [] }; // since the version in use
let proven = null; // the text that the proof was told of

const editor = window.quandoEditor.create(document.getElementById("editor"), {
  text: textarea.value,
  nonce: document.querySelector('meta[name="style-nonce"]').content,
  label: page.dataset.label,
  described: "problems",
  phrases: JSON.parse(page.dataset.phrases),
  changed(text, byPerson) {
    const before = textarea.value;
    textarea.value = text;
    if (!byPerson) return;
    remember(before);
    asked++; // an answer about the text before would take away what was just typed
    clearTimeout(timer);
    timer = setTimeout(look, quiet);
  },
  async complete(place) {
    const answer = await ask("/write/complete", { text: place.text, line: place.line, column: place.column });
    return answer.ok ? answer.json() : null;
  },
});
page.classList.add("lively");

// ask sends what the page is about, and something more.
function ask(path, more, form, signal) {
  const body = new URLSearchParams(form);
  for (const name of ["workspace", "file", "rule", "was", "own"]) body.set(name, page.elements[name].value);
  body.set("text", textarea.value);
  body.set("shown", railName);
  for (const [name, value] of Object.entries(more || {})) body.set(name, value);
  return fetch(path, { method: "POST", body, signal });
}

// look asks what the console makes of the text.
async function look() {
  const mine = ++asked;
  clearTimeout(timer);
  looking.abort();
  looking = new AbortController();
  const answer = await ask("/write/check", {}, undefined, looking.signal).catch(() => null);
  if (mine !== asked) return;
  if (answer && answer.ok) refused = false;
  await take(mine, answer);
}

// send carries out edits, after those before them. They mean what is at their paths now, wherever that is when their turn comes. Behind is what is done when they are
// shown: it is given them as they were carried out.
function send(edits, behind) {
  const pointer = pointAt(edits);
  sending++;
  queue = queue.catch(() => {}).then(() => carryOut(letGo(pointer), behind)).finally(() => sending--);
  return queue;
}

async function carryOut(edits, behind) {
  if (!edits) return; // what they are about is gone
  const mine = ++asked;
  const before = textarea.value;
  const answer = await ask("/write/edit", { edits: JSON.stringify(edits) }).catch(() => null);
  if (mine !== asked) return;
  refused = !answer || !answer.ok;
  unheard = !answer || answer.status === 401;
  resend = refused && unheard ? edits : null;
  const shown = await take(mine, answer, edits);
  if (shown && textarea.value !== before) remember(before);
  if (shown && behind) behind(edits);
}

const isStale = () => textarea.value !== railText;

// settled waits until the rail shows the text, with every edit.
let settling = null;
function settled() {
  settling ??= settle().finally(() => { settling = null; });
  return settling;
}

async function settle() {
  for (let tries = 0; sending || (isStale() && tries < 3); ) {
    if (sending) await queue;
    else {
      tries++;
      await look();
    }
  }
}

// take shows what the console answered.
async function take(mine, answer, edits = []) {
  if (!answer || !answer.ok) { await failed(answer); return false; }
  const found = await answer.json();
  await released();
  if (mine !== asked) return false;
  page.elements.rule.value = found.rule;
  textarea.value = found.text;
  railText = textarea.value; // line ends may be others
  railName = found.shown;
  showRail(found.rail, edits);
  changes = { count: found.changed, words: found.changes || [] };
  showUnsaved();
  requestAnimationFrame(() => setTimeout(() => mine === asked && showBeside(found))); // the rail is seen first
  return true;
}

// showBeside shows what stands beside the rail: the YAML, the rule in words and the problems.
function showBeside(found) {
  editor.set(textarea.value);
  const said = document.getElementById("words");
  if (said.dataset.of !== found.words) {
    said.dataset.of = found.words;
    said.innerHTML = found.words;
  }
  showProblems(found);
  if (found.text !== proven) textChanged();
  proven = found.text;
}

async function failed(answer) {
  listed = null;
  problems.replaceChildren(make("p", { class: "problem-error", text: await reasonOf(answer) }));
}

async function reasonOf(answer) {
  if (!answer) return page.dataset.failed;
  if (answer.status === 401) return page.dataset.ended;
  return new DOMParser().parseFromString(await answer.text(), "text/html").querySelector("main p")?.textContent || page.dataset.failed;
}

// showRail puts the rail in the place of the one before, and leaves the cursor, the open menu, and what is unfolded, where they were.
function showRail(parts, edits) {
  const active = rail.contains(document.activeElement) ? document.activeElement : null;
  const again = active && pointTo(active);
  const reopen = keepMenu();
  const card = active?.closest("[data-at]")?.dataset.at;
  const typed = active && "value" in active && active.matches("input, textarea") ? active.value : null;
  const open = [...rail.querySelectorAll("details.about, details.fails")].map((d) => d.open);
  const now = next(parts);
  now.querySelectorAll("details.about, details.fails").forEach((d, i) => { if (open[i]) d.open = true; });
  shifted(edits, (list) => grown(list, now));
  aroundText(rail, () => patch(rail, now));
  fold();
  reopen();
  const same = again?.();
  if (!active || same === active) return;
  const near = card && rail.querySelector(`[data-at="${CSS.escape(card)}"]`)?.querySelector("button, summary");
  const target = same || near || rail.querySelector("button, input");
  target?.focus({ preventScroll: true });
  if (same && typed !== null && "value" in same && same.matches("input, textarea")) same.value = typed;
}

// showProblems lists the problems. A screen reader reads the list whenever it changes, so it is left alone while it is the same.
function showProblems(found) {
  editor.problems(found.problems);
  const now = JSON.stringify(found.problems);
  if (now === listed) return;
  listed = now;
  const n = found.problems.length;
  const list = [make("p", { class: n ? "problem-count" : "fine", text: n ? (n === 1 ? page.dataset.countOne : page.dataset.count.replace("%s", n)) : page.dataset.fine })];
  for (const p of found.problems.slice(0, 50)) {
    const go = make("button", { type: "button", class: "plain", text: p.plain || p.message });
    go.addEventListener("click", () => showProblem(p));
    list.push(make("p", { class: "problem-" + p.severity }, go, p.advice || (p.hint && !/[{}()`=_]/.test(p.hint)) ? " (" + (p.advice || p.hint) + ")" : ""));
  }
  problems.replaceChildren(...list);
}

// showProblem goes to the card of a problem, or to its line where it has none.
function showProblem(p) {
  const at = (path) => rail.querySelector(`[data-at="${CSS.escape(path)}"]`) || rail.querySelector(`[data-set="${CSS.escape(path)}"]`)?.closest(".title");
  const card = p.path && (at(p.path) || rail.querySelector(`[data-edits*='"${CSS.escape(p.path)}']`)?.closest("li"));
  if (!card) {
    showTab("yaml");
    return editor.go(p.line, p.column);
  }
  unfold(card);
  card.scrollIntoView({ block: "center" });
  (card.querySelector(".chip.off") || card.querySelector(".inside button, .inside input, button, input"))?.focus({ preventScroll: true });
}

// What was done can be undone, and is not lost by a wrong key.
const begun = "unsaved" in page.dataset ? null : textarea.value;

function remember(text) {
  undone.push(text);
  if (undone.length > 200) undone.shift();
  redone = [];
  showUnsaved();
}

async function travel(from, to) {
  await queue;
  if (!from.length) return;
  to.push(textarea.value);
  const text = from.pop();
  editor.set(text);
  textarea.value = text;
  await look();
}

function stage() { return page.querySelector('input[name="switch"]:checked')?.value || "draft"; }

function showUnsaved() {
  const changed = textarea.value !== begun;
  const tag = document.getElementById("unsaved");
  const fresh = "new" in page.dataset;
  const switched = !fresh && stage() !== page.dataset.stage ? [[page.dataset.stage, stage()].map((s) => page.querySelector(`input[name="switch"][value="${s}"] + span`).textContent).join(" → ")] : [];
  const n = changes.count + switched.length;
  tag.textContent = n && !fresh ? (n === 1 ? words["studio.change"] : words["studio.changes"].replace("%s", n)) : changed || fresh ? words["studio.unsaved"] : tag.dataset.saved || words["studio.saved"];
  tag.classList.toggle("wait", changed || fresh || n > 0);
  page.toggleAttribute("data-changing", changed || n > 0);
  document.getElementById("changes").textContent = [...switched, ...changes.words].join(" · ");
  document.getElementById("undo").disabled = !undone.length;
  document.getElementById("redo").disabled = !redone.length;
  document.getElementById("discard").disabled = !changed || begun === null;
  const now = stage();
  const save = document.getElementById("save");
  save.value = now;
  save.textContent = words[(now === page.dataset.stage ? "studio.stays." : "studio.save.") + now];
  for (const other of ["draft", "shadow"]) document.getElementById("save-" + other).hidden = now === other;
}
page.querySelectorAll('input[name="switch"]').forEach((r) => r.addEventListener("change", showUnsaved));
document.getElementById("undo").addEventListener("click", () => travel(undone, redone));
document.getElementById("redo").addEventListener("click", () => travel(redone, undone));
document.getElementById("discard").addEventListener("click", async () => {
  await queue;
  remember(textarea.value);
  editor.set(begun);
  textarea.value = begun;
  await look();
  undone = [];
  showUnsaved();
});
document.addEventListener("keydown", (event) => {
  if (!(event.ctrlKey || event.metaKey) || event.key.toLowerCase() !== "z" || event.target.closest("input, textarea, .cm-editor, dialog")) return;
  event.preventDefault();
  event.shiftKey ? travel(redone, undone) : travel(undone, redone);
});

// choices asks what can be said at a place.
async function choices(path, more) {
  await queue;
  const answer = await ask("/write/choices", { path, ...more }).catch(() => null);
  return answer && answer.ok ? answer.json() : {};
}

// valuesAt are the values that can be chosen at a place, and how a text has one.
const valuesAt = (path) => ({
  list: async () => (await choices(path)).values || [],
  print: async (value) => (await choices(path, { print: JSON.stringify(value) })).text,
});

// pickCondition chooses a sentence, or a value and what is asked of it, and fills its blanks.
async function pickCondition(anchor, path) {
  const { conditions = [], values = [] } = await choices(path);
  const options = conditions.map((c) => ({ value: c, label: c.label, parts: c.parts, group: c.group, rare: c.rare }));
  for (const v of values) if (!(v.blanks || []).length) options.push({ value: v, label: v.label + " …", group: v.group });
  const order = [...new Set(options.map((o) => o.group))];
  options.sort((a, b) => order.indexOf(a.group) - order.indexOf(b.group));
  let chosen = await pickOne(anchor, words["studio.condition"], options);
  if (chosen && chosen.term) {
    const about = (await choices(path, { value: JSON.stringify(chosen.term) })).conditions || [];
    chosen = await pickOne(anchor, chosen.label, about.map((c) => ({ value: c, label: c.label, parts: c.parts })));
  }
  return chosen ? fillBlanks(anchor, chosen.condition, chosen.blanks || [], valuesAt(path)) : null;
}

// open presses something for a person, who has pressed nothing else meanwhile.
function open(button) { if (!waiting) button?.click(); }

// openFirst goes on with what a new card still needs.
function openFirst(path) {
  const card = rail.querySelector(`[data-at="${CSS.escape(path)}"]`);
  if (!card) return;
  unfold(card);
  card.scrollIntoView({ block: "nearest" });
  const bare = card.querySelector(".bare");
  if (bare) open(bare);
  else card.querySelector("button")?.focus();
}

// openNext goes on with what a card needs besides what was just chosen.
function openNext(path) {
  const card = rail.querySelector(`[data-at="${CSS.escape(path)}"] > .card > .inside`);
  open(card?.querySelector(":scope > .say > .bare, :scope > .wording > .bare"));
}

const sent = new WeakSet(); // buttons whose edits are not shown yet

const actions = {
  text(button) { editText(button.closest("[data-text]"), { ask, send }); },
  async chip(button) {
    const chip = JSON.parse(button.dataset.chip);
    const value = isText(chip) ? await pickWords(button, chip, { ask }) : await pick(button, chip, valuesAt(chip.path));
    if (value === undefined) return;
    const card = button.classList.contains("bare") && value !== null && button.closest("[data-list] > [data-at]")?.dataset.at;
    send(value?.of ? setting(value.of, value.value) : setting(chip, value), card ? () => openNext(card) : undefined);
  },
  edits(button) {
    if (sent.has(button)) return; // a double click
    sent.add(button);
    const edits = JSON.parse(button.dataset.edits);
    const step = closeMenu(button) !== button;
    send(edits, (done) => changed(done[0], step)).then(() => sent.delete(button));
  },
  async condition(button) {
    const path = button.dataset.condition;
    const op = button.dataset.op;
    const condition = await pickCondition(closeMenu(button), path);
    if (!condition) return;
    if (op === "add") send([{ op: "add", path, value: condition }]);
    else send([{ op: "group", path, value: { group: op === "any" ? "any" : "all", of: [condition] } }]);
  },
  async group(button) {
    const options = ["all", "any", "none"].map((g) => ({ value: g, label: words["studio.group." + g], chosen: g === button.dataset.value }));
    const value = await pickOne(button, words["studio.condition"], options);
    if (value) send([{ op: "group", path: button.dataset.group, value }]);
  },
  async step(button) {
    const path = button.dataset.step;
    const verb = await pickOne(button, words["studio.step"], [...lists.blocks, ...lists.verbs]);
    if (!verb) return;
    const block = lists.blocks.find((b) => b.value === verb);
    if (block) {
      const value = await fillBlock(button, block, path, { ask });
      if (value) send([{ op: "block", path, value }], ([done]) => openFirst(done.path));
      return;
    }
    const value = { verb };
    if (verb === "choose") value.args = [{ name: "branches", as: "branches", branches: [{ do: [] }, { else: true, do: [] }] }];
    if (verb === "for_each") value.args = [{ name: "do", as: "steps", steps: [] }];
    send([{ op: "add", path, value }], ([done]) => openFirst(done.path));
  },
  async way(button) {
    const path = button.dataset.way + "/" + button.dataset.count;
    const condition = await pickCondition(button, path);
    if (condition) send([{ op: "add", path, value: { do: [] } }, { op: "set", path: path + "/if/~if", value: condition }]);
  },
  async event(button) {
    const n = rail.querySelectorAll('[data-at="/when"] [data-chip]').length;
    const value = await pickOne(button, words["studio.event"], lists.events);
    if (value) send([{ op: "add", path: "/when/events/" + n, value }]);
  },
  async ending(button) {
    const value = await pickOne(button, words["studio.ending"], lists.events);
    if (value) send([{ op: "add", path: "/cancel_on/" + button.dataset.ending, value: { events: [value] } }]);
  },
  async bounds(button) {
    const edits = await pickOne(button, words["studio.bound"], JSON.parse(button.dataset.bounds));
    if (edits) send(JSON.parse(edits));
  },
  async clock(button) {
    const edits = await pickOne(button, button.textContent, JSON.parse(button.dataset.clock));
    if (edits) send(JSON.parse(edits), () => open(rail.querySelector('[data-at="/when"] [data-chip]'))); // it still needs a time
  },
  async more(button) {
    const options = button.dataset.options ? JSON.parse(button.dataset.options) : (await choices(button.dataset.more, { more: "yes" })).more || [];
    button = closeMenu(button);
    const chip = await pickOne(button, words["studio.more"], options.map((c) => ({ value: c, label: c.label })));
    if (!chip) return;
    const value = isText(chip) ? await pickWords(button, chip, { ask }) : await pick(button, chip, valuesAt(chip.path));
    if (value !== undefined && value !== null) send(setting(chip, value));
  },
};

// changed goes to the card that was moved, or says that it is gone.
function changed(edit, step) {
  if (edit.to) rail.querySelector(`[data-at="${CSS.escape(landed(edit))}"] > .card > .menu > summary`)?.focus();
  else if (step && edit.op === "remove" && /\/\d+$/.test(edit.path)) toast(words["studio.removed"], words["studio.undo"], () => travel(undone, redone));
}
function move(edit) {
  if (isStale()) return; // the card may be another one by now
  closeText(); // what is written there is sent first
  send([edit], ([done]) => changed(done, true));
}
onMove(async (path, way) => {
  if (isStale()) return;
  const pointer = pointAt([{ path }]);
  await settled();
  const [now] = letGo(pointer) || [];
  const card = now && rail.querySelector(`[data-at="${CSS.escape(now.path)}"]`);
  const to = card && movesOf(card)[way];
  if (to) move({ op: "move", path: now.path, to });
}, move);

// isText reports whether a chip is a text of a step, which can have chips in it.
const isText = (chip) => chip.picker === "text" && !chip.term && /\/(do|on_error)\/.*\/args\//.test(chip.path);

// setting returns the edit that gives a chip a value.
function setting(chip, value) {
  if (chip.picker === "target" && value) value = { as: "fields", fields: value };
  if (chip.picker === "named") return [{ op: "set", path: chip.path + value.name, value: value.value }];
  if (chip.picker === "several" && chip.from === "event" && chip.path.includes("/args/") && value?.length === 1) value = value[0];
  return [{ op: value === null ? "remove" : "set", path: chip.path, value: term(chip, value) }];
}

// What is pressed on the rail. Something to choose waits until every edit is shown, and is about what was pressed, wherever that is then; of several the last counts. An edit is sent at once, unless the rail is not that of the text.
let choosing = false; // one thing is chosen at a time, also by a double click
let presses = 0;
let waiting = 0; // presses that wait
const cardText = (button) => button.closest("[data-at]")?.textContent;
rail.addEventListener("click", async (event) => {
  const button = event.target.closest("button");
  const name = button && (button.classList.contains("bubble") ? "text" : Object.keys(actions).find((n) => n in button.dataset));
  if (!name || choosing) return;
  const mine = ++presses;
  const stale = isStale();
  if (!stale && (!sending || name === "edits")) return choose(name, button);
  const [pressed, said] = [pointTo(button), cardText(button)];
  waiting++;
  do await settled(); while (sending && name !== "edits");
  waiting--;
  const now = pressed();
  if (now && (!stale || cardText(now) === said) && (name === "edits" || mine === presses && !choosing)) choose(name, now);
});

async function choose(name, button) {
  choosing = true;
  try {
    await actions[name](button);
  } finally {
    choosing = false;
  }
}

rail.addEventListener("focusout", leaveText);

rail.addEventListener("change", (event) => {
  if (event.target.id === "which") {
    page.elements.rule.value = event.target.value;
    railText = null;
    return look();
  }
  const path = event.target.dataset.set;
  if (path) send([{ op: "set", path, value: event.target.value || null }]);
});

rail.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && !event.defaultPrevented && event.target.closest("[data-text]")) closeText(true);
});
// Enter in a field means that it is done, not that the file is to be saved.
page.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && event.target.tagName === "INPUT" && event.target.name !== "reason") {
    event.preventDefault();
    event.target.dispatchEvent(new Event("change", { bubbles: true }));
  }
});

startProof({
  ask, reasonOf,
  ready: () => queue,
  setText(text) {
    remember(editor.text);
    editor.set(text);
    textarea.value = text;
    look();
  },
});

let saving = false;
let sure = false; // what is filled in stands in the text, and somebody is there to save it
page.addEventListener("submit", async (event) => {
  if (sure) return;
  event.preventDefault();
  if (saving) return;
  saving = true;
  sure = await mayLeave();
  saving = sure;
  if (sure) page.requestSubmit(event.submitter);
  else problems.scrollIntoView({ block: "center" });
});

// mayLeave reports whether the page can be sent. Nobody saves something else than he sees, and nobody leaves for a console that does not answer.
async function mayLeave() {
  document.activeElement?.blur?.();
  if (resend) send(resend);
  await queue;
  if (refused) return false;
  const answer = await fetch("/stopping", { method: "HEAD" }).catch(() => null);
  if (answer && answer.ok) return true;
  await failed(answer);
  return false;
}
window.addEventListener("beforeunload", (event) => { if (!saving && textarea.value !== begun) event.preventDefault(); });

showUnsaved();
look();
