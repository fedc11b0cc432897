// The field in which a text of the rule is written, in the place of its bubble on the rail. One is open at a time. What is typed becomes an edit after a pause, and
// when the field is left; the rail that comes back leaves the open field alone.
import { make, openDialog, pickHand, pickOne, words } from "./pickers.js";
import { isPressing, onRelease } from "./press.js";

const pause = 700; // milliseconds without a key before the text is sent
let open = null;

const phrases = {
  "Completions": words["text.insert"], "by hand: $": words["text.by_hand"], "$ inserted": words["text.inserted"], "$ removed": words["text.removed"],
  "$ chosen: Enter changes it, Backspace removes it": words["text.chosen"],
};

// textField puts a field into an element. Studio is how the page asks the console.
export function textField(parent, { path, label, text, chips, studio, changed, busy }) {
  let insertable = [];
  const tell = async (more) => {
    const answer = await studio.ask("/write/text", { path, ...more }).catch(() => null);
    return answer && answer.ok ? answer.json() : {};
  };
  const field = window.quandoEditor.text(parent, {
    text, label, phrases, chips, changed, placeholder: words["text.write"], nonce: document.querySelector('meta[name="style-nonce"]').content,
    async pick(expression, rect, chip) {
      busy?.(true);
      const described = field.chipOf(expression);
      const anchor = { isConnected: true, getBoundingClientRect: () => rect };
      const { ways = [] } = await tell({ want: "ways", value: expression });
      field.describe(ways);
      const options = ways.map((w) => ({ value: w.expression, label: w.example, chosen: w.chosen, group: words["text.ways"] }));
      for (const i of insertable) if (!i.text && i.expression !== expression) options.push({ value: i.expression, label: i.label || i.words, group: words["text.instead"] });
      const value = described.hand ? await pickHand(anchor, { label: words["studio.by_hand"], value: expression, clear: true }) : await pickOne(anchor, described.words, options, { clear: true });
      busy?.(false);
      if (value === null) chip.remove();
      else if (value && value !== expression) chip.replace(value);
      else field.focus();
    },
  });
  field.tell = tell;
  const learn = async () => {
    const found = await tell({ value: field.text });
    field.describe(found.chips || []);
    if (found.insertable) field.offer(insertable = found.insertable);
  };
  let learnt = learn();
  field.learn = () => { learnt = learn(); };
  // The button opens the menu, as soon as it is known what can be inserted.
  field.insertButton = () => make("button", { type: "button", class: "chip add insert", text: "+ " + words["studio.insert"], async onclick() { await learnt; field.insert(); } });
  return field;
}

// editText opens the field of a text. Studio has ask and send.
export function editText(box, studio) {
  closeText();
  const holder = make("div", { class: "holder" });
  const preview = make("figure", { class: "preview", "aria-label": words["text.preview"], hidden: true });
  const mine = { box, studio, preview, path: box.dataset.text, sent: box.dataset.value, next: null, timer: 0, asked: 0, busy: false };
  box.querySelector(".bubble").hidden = true;
  box.dataset.open = "";
  const under = make("div", { class: "under" });
  box.append(holder, under, preview);
  mine.field = textField(holder, {
    path: mine.path, label: box.dataset.label, text: mine.sent, chips: JSON.parse(box.dataset.chips), studio,
    changed() {
      clearTimeout(mine.timer);
      mine.timer = setTimeout(() => settle(mine), pause);
    },
    busy(is) { mine.busy = is; },
  });
  open = mine;
  under.append(mine.field.insertButton());
  mine.field.focus();
  showPreview(mine);
}

const edits = (mine) => {
  mine.sent = mine.field.text;
  return [{ op: "set", path: mine.path + "/text", value: mine.sent }, { op: "set", path: mine.path + "/as" }];
};

// settle sends what was typed, and shows it as somebody would get it.
async function settle(mine) {
  if (open !== mine) return;
  if (mine.field.text !== mine.sent) mine.studio.send(edits(mine));
  mine.field.learn();
  showPreview(mine);
}

// showPreview shows the text as a customer would get it. What the customer's data have is text and nothing else.
async function showPreview(mine) {
  const asked = ++mine.asked;
  const found = await mine.field.tell({ want: "preview", value: mine.field.text });
  if (open !== mine || asked !== mine.asked || !("preview" in found || "none" in found)) return;
  mine.preview.hidden = !found.preview && !mine.field.text.trim();
  const said = make("figcaption", { class: "muted", text: found.preview ? found.preview.said : words["text.preview_none"] });
  if (!found.preview) return mine.preview.replaceChildren(said);
  const text = make("bdi", { class: "bubble" }, ...found.preview.parts.map((p) => (p.chip ? make("span", { class: "inline", text: p.words }) : p.words)));
  mine.preview.replaceChildren(text, said);
}

// closeText leaves the field, and sends what was not sent yet.
export function closeText(focus) {
  const was = open;
  if (!was) return;
  open = null;
  clearTimeout(was.timer);
  const changes = was.field.text !== was.sent ? edits(was) : null;
  was.field.destroy();
  if (was.next) was.box.replaceWith(was.next);
  else {
    was.box.querySelectorAll(".holder, .under, .preview").forEach((e) => e.remove());
    delete was.box.dataset.open;
    was.box.querySelector(".bubble").hidden = false;
  }
  if (focus) (was.next || was.box).querySelector(".bubble").focus();
  if (changes && was.box.dataset.gone === undefined) was.studio.send(changes);
}

// keepText leaves the open field alone where the next rail has the same text, and takes over what was changed elsewhere, as by an undo.
export function keepText(box, next) {
  if (!open || open.box !== box || next.dataset.text !== open.path) return false;
  open.next = next;
  if (next.dataset.value !== open.sent && open.field.text === open.sent) {
    open.sent = next.dataset.value;
    open.field.set(open.sent);
  }
  open.field.describe(JSON.parse(next.dataset.chips));
  return true;
}

// hasOpenText reports whether a part of the rail holds the open field, and what comes in its place holds the same text.
export function hasOpenText(part, next) {
  const text = `[data-text="${open && CSS.escape(open.path)}"]`;
  return Boolean(open && part.contains(open.box) && (next.matches(text) || next.querySelector(text)));
}

// aroundText calls what exchanges the rail. A field whose card was exchanged goes into the new one, with the cursor.
export function aroundText(rail, exchange) {
  const mine = open;
  if (!mine) return exchange();
  const writing = mine.box.contains(document.activeElement);
  mine.busy = true;
  exchange();
  mine.busy = false;
  if (mine.box.isConnected) return writing && !mine.box.contains(document.activeElement) && mine.field.focus();
  const next = rail.querySelector(`[data-text="${CSS.escape(mine.path)}"]`);
  if (!next) {
    mine.box.dataset.gone = "";
    return closeText();
  }
  next.replaceWith(mine.box);
  keepText(mine.box, next);
  if (writing) mine.field.focus();
}

// What is pressed below the field would move away from under the pointer if the field closed at once, and the click would be lost. So it closes with the click, before
// anything else hears of that.
let left = false; // the cursor left the field during a press
onRelease(() => {
  if (left && open && !open.box.contains(document.activeElement)) closeText();
  left = false;
});

// leaveText closes the field when the cursor has left it, but not while a picker is open, or another window is in front.
export function leaveText(event) {
  if (!open || open.busy || !open.box.contains(event.target) || open.box.contains(event.relatedTarget) || !document.hasFocus()) return;
  if (isPressing()) left = true;
  else closeText();
}

// pickWords writes a text with chips in a dialog.
export const pickWords = (anchor, chip, studio) => openDialog(anchor, chip.label, (box, done, buttons) => {
  const holder = make("div", { class: "holder" });
  const field = textField(holder, { path: chip.path, label: chip.label, text: chip.value || "", chips: [], studio });
  holder.querySelector(".cm-content").dataset.first = "";
  box.append(holder, make("div", { class: "under" }, field.insertButton()), buttons(done, () => field.text.trim() || undefined, chip));
});
