// The pickers of the studio: each opens the dialog beside what it is for, and promises what was chosen. Nothing chosen is undefined, and taken away is null.
const dialog = document.getElementById("picker");
const lists = JSON.parse(document.getElementById("lists").textContent);
export const words = lists.words;
export { lists };

const narrow = window.matchMedia("(max-width: 700px)");
const plain = (text) => text.normalize("NFD").replace(/\p{M}/gu, "").toLowerCase();

export function make(tag, attributes, ...children) {
  const e = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name === "text") e.textContent = value;
    else if (name.startsWith("on")) e.addEventListener(name.slice(2), value);
    else if (value === true) e.setAttribute(name, "");
    else if (value !== false && value !== undefined && value !== null) e.setAttribute(name, value);
  }
  e.append(...children);
  return e;
}

// open shows the dialog. Build fills it, and gets what ends it with a value.
export function open(anchor, title, build) {
  return new Promise((resolve) => {
    let result;
    const done = (value) => { result = value; dialog.close(); };
    const box = make("div", { class: "picker" }, make("h2", { id: "picker-title", text: title }));
    dialog.replaceChildren(box);
    dialog.setAttribute("aria-labelledby", "picker-title");
    const outside = build(box, done);
    dialog.onclick = (event) => { if (event.target === dialog) outside ? outside() : dialog.close(); };
    dialog.onclose = () => { dialog.replaceChildren(); resolve(result); };
    dialog.showModal();
    place(anchor);
    (box.querySelector("[data-first]") || box.querySelector("input, select, textarea, button")).focus();
  });
}

// place puts the dialog below what it is for, or above where there is more room. On a phone it is a sheet at the bottom.
function place(anchor) {
  dialog.style.left = dialog.style.top = "";
  if (narrow.matches || !anchor || !anchor.isConnected) return;
  const at = anchor.getBoundingClientRect();
  const size = dialog.getBoundingClientRect();
  const below = at.bottom + 6;
  dialog.style.left = Math.max(8, Math.min(at.left, window.innerWidth - size.width - 8)) + "px";
  dialog.style.top = (below + size.height < window.innerHeight ? below : Math.max(8, Math.min(at.top - size.height - 6, window.innerHeight - size.height - 8))) + "px";
}

// openDialog opens the dialog for another script, with the buttons that end it.
export const openDialog = (anchor, title, build) => open(anchor, title, (box, done) => build(box, done, buttons));

// other is chosen by whoever wants a variable, or the result of a step, instead of something written out.
const other = {};
const otherButton = (done) => make("button", { type: "button", class: "ghost", text: words["picker.other"], onclick: () => done(other) });

export function buttons(done, value, chip) {
  const row = make("div", { class: "ends" });
  if (chip && chip.other) row.append(otherButton(done));
  if (chip && chip.clear) row.append(make("button", { type: "button", class: "ghost", text: words["picker.clear"], onclick: () => done(null) }));
  row.append(make("span", { class: "grow" }), make("button", { type: "button", class: "ghost", text: words["picker.cancel"], onclick: () => dialog.close() }));
  row.append(make("button", { type: "button", class: "go", "data-done": true, text: words["picker.done"], onclick: () => done(value()) }));
  return row;
}

function onEnter(element, fn) {
  element.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.isComposing) return;
    event.preventDefault();
    event.stopPropagation();
    fn();
  });
}

// inService are what only the messaging service has. A name that it does not have yet can be used, but not created from here.
const inService = new Set(["label", "sector", "person", "teammate", "channel", "board", "stage"]);

// listBox is a list with a search field. Arrows move, Enter chooses.
function listBox(box, options, { free, choose, chosen }) {
  const list = make("div", { role: "listbox", id: "picker-list", class: "options", "aria-labelledby": "picker-title", "aria-multiselectable": chosen ? "true" : undefined });
  const search = make("input", { type: "search", role: "combobox", "aria-expanded": "true", "aria-controls": "picker-list", "aria-autocomplete": "list", "aria-label": words["picker.search"], placeholder: words["picker.search"], autocomplete: "off", "data-first": true });
  let shown = [];
  let active = -1;
  let more = false; // what is rare is shown
  const mark = (n) => {
    shown[active]?.element.classList.remove("active");
    active = Math.max(0, Math.min(n, shown.length - 1));
    const now = shown[active]?.element;
    if (!now) return search.removeAttribute("aria-activedescendant");
    now.classList.add("active");
    now.scrollIntoView({ block: "nearest" });
    search.setAttribute("aria-activedescendant", now.id);
  };
  const draw = () => {
    const typed = search.value.trim();
    const parts = plain(typed).split(/\s+/);
    const all = more || typed || !options.some((o) => o.rare);
    const found = options.filter((o) => (all || !o.rare) && parts.every((p) => plain(o.label + " " + (o.group || "")).includes(p)));
    if (free && typed && !options.some((o) => plain(o.label) === plain(typed))) found.push({ value: typed, label: words[inService.has(free) ? "picker.absent" : "picker.use"].replace("%s", typed), note: inService.has(free) ? words["picker.absent_help"] : "", free: true });
    shown = [];
    list.replaceChildren();
    let group = null;
    let into = list;
    for (const o of found.slice(0, 300)) {
      if (o.group && o.group !== group) {
        group = o.group;
        const id = "picker-group-" + shown.length;
        into = make("div", { role: "group", "aria-labelledby": id }, make("div", { class: "grp", id, text: group }));
        list.append(into);
      } else if (!o.group) into = list;
      const is = chosen ? chosen().includes(o.value) : Boolean(o.chosen);
      const element = make("div", { role: "option", id: "picker-option-" + shown.length, "aria-selected": is ? "true" : "false", "data-value": typeof o.value === "string" ? o.value : undefined }, ...(o.parts ? o.parts.map((p) => (p.chip ? make("em", { text: p.words }) : p.words)) : [o.label]));
      if (o.note) element.append(make("small", { class: "note", text: o.note }));
      element.addEventListener("click", () => { choose(o); if (chosen) { search.value = o.free ? "" : search.value; draw(); } });
      shown.push({ option: o, element });
      into.append(element);
    }
    if (!all) {
      const element = make("div", { role: "option", id: "picker-option-" + shown.length, class: "more", "aria-selected": "false", text: words["picker.more"], onclick() { more = true; draw(); search.focus(); } });
      shown.push({ option: {}, element });
      list.append(element);
    }
    if (!shown.length) list.append(make("div", { role: "option", "aria-selected": "false", "aria-disabled": "true", class: "muted", text: words["picker.none"] }));
    const at = shown.findIndex((s) => s.element.getAttribute("aria-selected") === "true");
    mark(typed ? 0 : Math.max(at, 0));
  };
  search.addEventListener("input", draw);
  search.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1, PageDown: 8, PageUp: -8 }[event.key];
    if (step) { event.preventDefault(); mark(active + step); }
  });
  onEnter(search, () => shown[active]?.element.click());
  box.append(search, list);
  draw();
  return search;
}

export const pickOne = (anchor, title, options, more = {}) => open(anchor, title, (box, done) => {
  listBox(box, options, { free: more.free, choose: (o) => done(more.whole ? o : o.value) });
  if (more.other) box.append(make("div", { class: "ends" }, otherButton(done)));
  if (more.upload) box.append(uploadRow(done));
  if (more.clear) box.append(make("div", { class: "ends" }, make("button", { type: "button", class: "ghost", text: words["picker.clear"], onclick: () => done(null) })));
});

// uploadRow sends a file to where rules send files from, and chooses it.
function uploadRow(done) {
  const said = make("p", { class: "error", role: "alert", hidden: true });
  const input = make("input", { type: "file", hidden: true, "aria-label": words["picker.upload"], async onchange() {
    const body = new FormData();
    body.set("file", input.files[0]);
    const workspace = document.querySelector('#write [name="workspace"]').value;
    const answer = await fetch("/write/upload?workspace=" + encodeURIComponent(workspace), { method: "POST", body }).catch(() => null);
    if (answer && answer.ok) {
      const { name } = await answer.json();
      if (!lists.names.media.includes(name)) lists.names.media.push(name);
      return done(name);
    }
    said.hidden = false;
    said.textContent = (answer && new DOMParser().parseFromString(await answer.text(), "text/html").querySelector("main p")?.textContent) || words["write.failed"];
  } });
  return make("div", {}, make("button", { type: "button", class: "upload", text: words["picker.upload"], onclick: () => input.click() }), input, said);
}

const pickSeveral = (anchor, chip, options, free) => open(anchor, chip.label, (box, done) => {
  let chosen = Array.isArray(chip.value) ? [...chip.value] : chip.value ? [chip.value] : [];
  for (const name of chosen) if (!options.some((o) => o.value === name)) options.push({ value: name, label: name });
  const search = listBox(box, options, {
    free, chosen: () => chosen,
    choose: (o) => {
      if (o.free) options.push({ value: o.value, label: o.value });
      chosen = chosen.includes(o.value) ? chosen.filter((v) => v !== o.value) : [...chosen, o.value];
    },
  });
  const value = () => {
    const typed = search.value.trim();
    if (free && typed && !chosen.includes(typed)) chosen.push(typed);
    return chosen.length ? chosen : null;
  };
  box.append(buttons(done, value, chip));
  return () => done(value());
});

const pickNumber = (anchor, chip) => open(anchor, chip.label, (box, done) => {
  const input = make("input", { type: "number", "aria-label": chip.label, value: chip.value || "", min: "0", step: "any", "data-first": true, onfocus: all, onclick: all });
  onEnter(input, () => input.value && done(input.value));
  box.append(input, buttons(done, () => input.value || undefined, chip));
});

// all chooses what a field has, so that typing replaces it.
export const all = (event) => event.target.select();

const lengthPart = /^(\d+(?:\.\d+)?)(s|m|h|d)$/;

// lengthFields are the fields of a length of time: a number, a unit and, with hours, of which. Value reads them.
export function lengthFields(given, hours, label) {
  const [length, calendar] = String(given || "15m").split(" of ");
  const found = lengthPart.exec(length) || [];
  const amount = make("input", { type: "number", min: "1", value: found[1] || "15", "aria-label": label || words["picker.amount"], "data-first": true, onfocus: all, onclick: all });
  const unit = make("select", { "aria-label": words["picker.unit"] }, ...["s", "m", "h", "d"].map((u) => make("option", { value: u, text: words["picker." + u], selected: u === (found[2] || "m") })));
  const row = make("div", { class: "length" }, amount, unit);
  let of = null;
  if (hours) {
    of = make("select", { "aria-label": words["picker.hours"] }, make("option", { value: "", text: words["picker.always"] }), ...lists.names.calendar.map((c) => make("option", { value: c, text: words["picker.of"].replace("%s", c), selected: c === calendar })));
    row.append(of);
  }
  return { row, amount, value: () => (amount.value ? amount.value + unit.value + (of && of.value ? " of " + of.value : "") : undefined) };
}

const pickLength = (anchor, chip, hours) => open(anchor, chip.label, (box, done) => {
  const { row, amount, value } = lengthFields(chip.value, hours);
  onEnter(amount, () => done(value()));
  box.append(row, buttons(done, value, chip));
});

const pickLine = (anchor, chip) => open(anchor, chip.label, (box, done) => {
  const input = make("input", { type: "text", value: chip.value ?? "", "aria-label": chip.label, autocomplete: "off", "data-first": true });
  onEnter(input, () => done(input.value.trim() || undefined));
  box.append(input, buttons(done, () => input.value.trim() || undefined, chip));
});

export const pickHand = (anchor, chip) => open(anchor, chip.label, (box, done) => {
  const holder = make("div", { class: "hand-editor" });
  let text = chip.value || "";
  window.quandoEditor.create(holder, {
    text, label: chip.label, nonce: document.querySelector('meta[name="style-nonce"]').content, phrases: { Completions: words["write.completions"] },
    changed(now) { text = now; },
    async complete(place) {
      const lines = place.text.split("\n").slice(0, place.line);
      lines.push(Array.from(lines.pop()).slice(0, place.column - 1).join(""));
      const body = new URLSearchParams(new FormData(document.getElementById("write")));
      body.set("before", lines.join("\n"));
      const answer = await fetch("/write/complete", { method: "POST", body }).catch(() => null);
      return answer && answer.ok ? answer.json() : null;
    },
  });
  holder.querySelector(".cm-content").dataset.first = "";
  box.append(make("p", { class: "muted", text: words["picker.by_hand"] }), holder, buttons(done, () => text.trim() || undefined, chip));
});

const pickTimes = (anchor, chip) => open(anchor, chip.label, (box, done) => {
  const rows = make("div", { class: "times" });
  const add = (value) => rows.append(make("input", { type: "time", value, "aria-label": words["picker.times"] }));
  (Array.isArray(chip.value) && chip.value.length ? chip.value : ["09:00"]).forEach(add);
  const value = () => [...rows.querySelectorAll("input")].map((i) => i.value).filter(Boolean);
  box.append(rows, make("button", { type: "button", class: "ghost", text: words["picker.add"], onclick: () => add("") }), buttons(done, value, chip));
});

export const namesOf = (kind) => (kind === "event" ? lists.events : kind === "stage" ? lists.stages.map((s) => ({ value: s.name, label: s.name, group: s.board })) : (lists.names[kind] || []).map((name) => ({ value: name, label: name })));

// takesOther reports whether a chip can also be a variable or the result of a step. A calendar, an event and a file are always written out.
const takesOther = (chip) => ["one", "number", "duration", "text"].includes(chip.picker) && !["calendar", "event", "media"].includes(chip.from) && Boolean(chip.term || /\/(do|on_error)\/.*\/args\//.test(chip.path));

// pick opens what a chip is chosen with.
export async function pick(anchor, chip, values) {
  const value = await pickLiteral(anchor, { ...chip, other: Boolean(values) && takesOther(chip) }, values);
  if (value !== other) return value;
  const wanted = { ...chip, from: chip.picker, picker: chip.picker };
  return chip.term ? pickValue(anchor, { ...wanted, free: false }, values) : pickText(anchor, { ...wanted, free: false }, values);
}

async function pickLiteral(anchor, chip, values) {
  switch (chip.picker) {
    case "one": {
      const options = namesOf(chip.from).map((o) => ({ ...o, chosen: o.value === chip.value, group: chip.others ? chip.label : o.group }));
      for (const c of chip.others || []) for (const o of namesOf(c.from)) options.push({ ...o, value: { of: c, value: o.value }, group: c.label });
      return pickOne(anchor, chip.label, options, { free: chip.from !== "event" && (chip.from || true), clear: chip.clear, other: chip.other, upload: chip.from === "media" });
    }
    case "several": return pickSeveral(anchor, chip, namesOf(chip.from), chip.from !== "event" && (chip.from || true));
    case "choices": return pickSeveral(anchor, chip, chip.values || [], false);
    case "days": return pickSeveral(anchor, chip, [...lists.days], false);
    case "choice": return pickOne(anchor, chip.label, (chip.values || []).map((o) => ({ ...o, chosen: o.value === chip.value })), { clear: chip.clear });
    case "number": return pickNumber(anchor, chip);
    case "duration": return pickLength(anchor, chip, false);
    case "span": return pickLength(anchor, chip, true);
    case "times": return pickTimes(anchor, chip);
    case "hand": return pickHand(anchor, chip);
    case "time": return pickText(anchor, chip, values);
    case "value": return pickValue(anchor, chip, values);
    case "target": return pickTarget(anchor, chip);
    case "named": {
      const name = await pickLine(anchor, { label: words["field.name"] });
      if (!name) return undefined;
      const value = await pickLine(anchor, { label: name });
      return value === undefined ? undefined : { name, value };
    }
  }
  return pickLine(anchor, chip);
}

// pickTarget chooses whom to write to: a person of the team, or a phone number and the number to write from.
async function pickTarget(anchor, chip) {
  const [phone, channel] = chip.values;
  const people = namesOf("teammate");
  const who = people.length ? await pickOne(anchor, chip.label, [...people, phone], { whole: true }) : phone;
  if (!who) return undefined;
  if (who !== phone) return [{ name: "person", text: who.value }];
  const number = (await pickLine(anchor, { label: phone.label }))?.replace(/[\s().-]/g, ""); // as people write it
  const from = namesOf("channel");
  const sender = !number || from.length === 1 ? from[0]?.value : await pickOne(anchor, channel.label, from);
  return number && sender ? [{ name: "phone", text: number }, { name: "channel", text: sender }] : undefined;
}

// pickValue chooses a value that the rule knows, of the type that is wanted. What is typed is itself.
async function pickValue(anchor, chip, values) {
  const type = { list: "list", time: "time", duration: "duration", number: "number" }[chip.from];
  const options = (await values.list()).filter((v) => !type || !v.type || v.type === type).map((v) => ({ value: v, label: v.label, group: v.group }));
  const chosen = await pickOne(anchor, chip.label, options, { free: type !== "list" && chip.free !== false, clear: chip.clear, whole: true });
  if (!chosen || chosen.free) return chosen ? chosen.value : chosen;
  return (await fillBlanks(anchor, chosen.value.term, chosen.value.blanks || [], values)) || undefined;
}

// pickText chooses a value as a text has it.
export async function pickText(anchor, chip, values) {
  const value = await pickValue(anchor, { ...chip, from: chip.picker }, values);
  return value?.kind ? values.print(value) : value;
}

// fillBlanks asks for each blank of a condition or a value, and returns it with these filled.
export async function fillBlanks(anchor, model, blanks, values) {
  const filled = structuredClone(model);
  for (const blank of blanks) {
    const known = blank.picker === "one" ? namesOf(blank.from) : [];
    const value = known.length === 1 && blank.from === "calendar" ? known[0].value : await pick(anchor, blank, values);
    if (value === undefined || value === null) return null;
    const path = blank.path.split("/").slice(1);
    let at = filled;
    for (const name of path.slice(0, -1)) at = at[name] ??= {};
    at[path[path.length - 1]] = term(blank, value);
  }
  return filled;
}

// term returns a chosen value as the model has it.
export function term(chip, value) {
  if (value === null || !chip.term || value?.kind) return value;
  if (chip.term === "list") return { kind: "list", list: value.map((text) => ({ kind: "text", text })) };
  if (chip.picker === "value") return { kind: /^-?\d+(\.\d+)?$/.test(value) ? "number" : "text", text: value };
  return { kind: chip.term, text: String(value) };
}
