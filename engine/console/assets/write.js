// The page on which a rule is written: a form and the YAML side by side, each following the other. The console does the work: it reads the text as a form,
// writes the form into the text, and says what is wrong; this script carries texts back and forth.
const page = document.getElementById("write");
const fields = document.getElementById("form");
const problems = document.getElementById("problems");
const textarea = document.getElementById("text");
const quiet = 300; // milliseconds without a key before the console is asked

let answered = null; // the text that the form shows
let asked = 0; // requests to look at the text; only the answer to the last one counts
let timer = 0;
let listed = null; // the problems that are shown
let pending = null; // a change of the form that is on its way into the text
let refused = false; // the form says something that could not be put into the text
let unheard = false; // because nobody answered, or nobody is logged in
let looking = new AbortController(); // ends a look whose answer does not count any more

const editor = window.quandoEditor.create(document.getElementById("editor"), {
  text: textarea.value,
  nonce: document.querySelector('meta[name="style-nonce"]').content,
  label: page.dataset.label,
  described: "problems",
  phrases: JSON.parse(page.dataset.phrases),
  changed(text, byPerson) {
    textarea.value = text;
    if (!byPerson) return;
    asked++; // an answer about the text before would take away what was just typed
    later(look);
  },
  async complete(place) {
    const answer = await ask("/write/complete", { text: place.text, line: place.line, column: place.column });
    return answer.ok ? answer.json() : null;
  },
});
page.classList.add("lively");

function later(what) {
  clearTimeout(timer);
  timer = setTimeout(what, quiet);
}

// ask sends what the page is about, and something more.
function ask(path, more, form, signal) {
  const body = new URLSearchParams(form);
  for (const name of ["workspace", "file", "rule", "was"]) body.set(name, page.elements[name].value);
  body.set("text", editor.text);
  for (const [name, value] of Object.entries(more || {})) body.set(name, value);
  return fetch(path, { method: "POST", body, signal });
}

// look asks what the console makes of the text.
async function look() {
  const mine = ++asked;
  pending = null;
  looking.abort();
  looking = new AbortController();
  const answer = await ask("/write/check", {}, undefined, looking.signal).catch(() => null);
  if (mine === asked) await take(mine, answer);
}

// change sends the fields of the form, and what a button asks for. A button may move fields, so nobody can fill them until it is done.
async function change(op, value) {
  if (answered !== editor.text) return look(); // the fields are those of another text
  const mine = ++asked;
  const form = new URLSearchParams();
  for (const e of fields.querySelectorAll("[name]")) {
    if (e.disabled || (e.type === "checkbox" && !e.checked)) continue;
    form.append(e.name, e.value);
  }
  fields.inert = Boolean(op);
  pending = ask("/write/form", { op: op || "", with: value || "" }, form).catch(() => null).then(async (answer) => {
    fields.inert = false;
    if (mine !== asked) return;
    refused = !answer || !answer.ok;
    unheard = !answer || answer.status === 401;
    await take(mine, answer, op);
    if (mine === asked) pending = null;
  });
}

// take shows what the console answered.
async function take(mine, answer, op) {
  if (!answer || !answer.ok) return failed(answer);
  const found = await answer.json();
  if (mine !== asked) return;
  fields.inert = refused = false;
  page.elements.rule.value = found.rule;
  editor.set(found.text);
  answered = found.text;
  showForm(found.form, op);
  showProblems(found);
}

async function failed(answer) {
  listed = null;
  let why = page.dataset.failed;
  if (answer && answer.status === 401) {
    why = page.dataset.ended;
  } else if (answer) {
    const told = new DOMParser().parseFromString(await answer.text(), "text/html").querySelector("main p");
    if (told) why = told.textContent;
  }
  problems.replaceChildren(paragraph("problem-error", why));
}

function paragraph(name, text) {
  const p = document.createElement("p");
  p.className = name;
  p.textContent = text;
  return p;
}

// showForm puts the form's fields in the place of those before, and leaves the cursor, and what is unfolded, where they were.
function showForm(html, op) {
  const active = fields.contains(document.activeElement) ? document.activeElement : null;
  const name = active && (active.name || active.dataset.op);
  const from = active && active.selectionStart !== undefined ? [active.selectionStart, active.selectionEnd] : null;
  const typed = active && active.name && "value" in active ? active.value : null;
  const open = [...fields.querySelectorAll("details")].map((d) => d.open);
  fields.innerHTML = html;
  if (!op) fields.querySelectorAll("details").forEach((d, i) => { if (open[i]) d.open = true; });
  if (!name) return;
  const again = [...fields.querySelectorAll("[name], [data-op]")].find((e) => (e.name || e.dataset.op) === name && (e.type !== "hidden") && (e.type !== "checkbox" || e.value === typed));
  if (!again) return fields.querySelector("button, input, select, textarea")?.focus({ preventScroll: true });
  again.focus({ preventScroll: true });
  if (again.type !== "checkbox" && again.tagName !== "SELECT" && typed !== null && again.value !== typed && !op) {
    again.value = typed; // somebody typed on while the console worked
    again.dataset.typed = "";
  }
  if (from && from[0] !== null && again.setSelectionRange && again.value === typed) again.setSelectionRange(...from);
}

// showProblems marks the problems in the text and lists them below it. A screen reader reads the list whenever it changes, so it is left alone while it is the same.
function showProblems(found) {
  editor.problems(found.problems);
  const now = JSON.stringify(found.problems);
  if (now === listed) return;
  listed = now;
  const errors = found.problems.length;
  const list = [paragraph(errors ? "problem-count" : "fine", errors ? (errors === 1 ? page.dataset.countOne : page.dataset.count.replace("%s", errors)) : page.dataset.fine)];
  for (const p of found.problems.slice(0, 50)) {
    const line = paragraph("problem-" + p.severity, "");
    const go = document.createElement("button");
    go.type = "button";
    go.className = "plain";
    go.textContent = page.dataset.line.replace("%s", p.line);
    go.addEventListener("click", () => editor.go(p.line, p.column));
    line.append(go, " ", p.message, p.hint ? " (" + p.hint + ")" : "");
    list.push(line);
  }
  problems.replaceChildren(...list);
}

fields.addEventListener("change", (event) => {
  if (event.target.id === "which") {
    page.elements.rule.value = event.target.value;
    return look();
  }
  if (event.target.name) change();
});
fields.addEventListener("focusout", (event) => {
  if (event.target.dataset.typed === undefined || !fields.contains(event.target)) return;
  delete event.target.dataset.typed;
  change();
});
fields.addEventListener("click", (event) => {
  const button = event.target.closest("button[data-op]");
  if (!button) return;
  const choice = button.parentElement.querySelector("select[data-with]");
  change(button.dataset.op, button.dataset.value || (choice ? choice.value : ""));
});
// Enter in a field means that it is done, not that the file is to be saved.
page.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && event.target.tagName === "INPUT" && event.target.name !== "reason") {
    event.preventDefault();
    event.target.dispatchEvent(new Event("change", { bubbles: true }));
  }
});

page.querySelectorAll("button[data-try]").forEach((button) => button.addEventListener("click", async () => {
  await pending;
  if (refused) return problems.scrollIntoView({ block: "center" });
  const shown = document.getElementById("tried");
  shown.replaceChildren(paragraph("muted", page.dataset.waiting));
  button.disabled = true;
  const story = new URLSearchParams();
  page.querySelectorAll('[name^="story."]').forEach((e) => story.append(e.name, e.value));
  const answer = await ask(button.dataset.try, {}, story).catch(() => null);
  button.disabled = false;
  if (answer && answer.ok) shown.innerHTML = (await answer.json()).html;
  else if (answer && answer.status === 401) shown.replaceChildren(paragraph("error", page.dataset.ended));
  else if (answer) shown.replaceChildren(paragraph("error", new DOMParser().parseFromString(await answer.text(), "text/html").querySelector("main p")?.textContent || page.dataset.failed));
  else shown.replaceChildren(paragraph("error", page.dataset.failed));
}));

// What was written is not lost by a wrong key.
const begun = "unsaved" in page.dataset ? null : textarea.value;
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
  const typed = fields.querySelector("[data-typed]");
  if (typed) delete typed.dataset.typed;
  if (typed || (refused && unheard)) await change();
  await pending;
  if (refused) return false;
  const answer = await fetch("/stopping", { method: "HEAD" }).catch(() => null);
  if (answer && answer.ok) return true;
  await failed(answer);
  return false;
}
window.addEventListener("beforeunload", (event) => { if (!saving && textarea.value !== begun) event.preventDefault(); });

look();
