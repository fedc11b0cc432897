// The building blocks of the studio: one sheet asks for what a block needs.
import { all, buttons, lengthFields, lists, make, namesOf, open, words } from "./pickers.js";
import { textField } from "./texts.js";

// outcomes are what an answer can lead to, with the desk's own names.
function outcomes() {
  const options = [make("option", { value: "", text: words["block.leads.nothing"] })];
  for (const kind of ["sector", "person", "label"]) {
    for (const o of namesOf(kind)) options.push(make("option", { value: kind + ":" + o.value, text: words["block.leads." + kind].replace("%s", o.label) }));
  }
  for (const kind of ["message", "close"]) options.push(make("option", { value: kind, text: words["block.leads." + kind] }));
  return options;
}

// field returns an element that asks for a value, and how it is read. At is where the page asks the console about texts: a path, and how.
function field(ask, at) {
  const named = { "aria-label": ask.label, "data-ask": ask.name };
  const simple = (e) => ({ element: e, value: () => e.value.trim() });
  switch (ask.kind) {
    case "text": {
      const holder = make("div", { class: "holder" });
      const text = textField(holder, { ...at, label: ask.label, text: "", chips: [] });
      Object.assign(holder.querySelector(".cm-content").dataset, { ask: ask.name, first: "" });
      return { element: make("div", { class: "wording" }, holder, make("div", { class: "under" }, text.insertButton())), value: () => text.text.trim() };
    }
    case "line": return simple(make("input", { ...named, type: "text", autocomplete: "off", placeholder: ask.label }));
    case "number": return simple(make("input", { ...named, type: "number", min: "1", max: "100", value: ask.default, onfocus: all, onclick: all }));
    case "time": return simple(make("input", { ...named, type: "time", value: ask.default }));
    case "leads": return simple(make("select", named, ...outcomes()));
    case "name": return simple(make("select", named, ...namesOf(ask.from).map((o) => make("option", { value: o.value, text: o.label }))));
    case "until": return simple(make("select", named, ...lists.events.map((o) => make("option", { value: o.value, text: o.label }))));
    case "length": case "span": case "hours": {
      const office = ask.kind === "hours" && lists.names.calendar[0];
      const { row, amount, value } = lengthFields(ask.default + (office ? " of " + office : ""), ask.kind !== "length", ask.label);
      amount.dataset.ask = ask.name;
      return { element: row, value };
    }
    case "rows": {
      const box = make("div", { class: "askrows" });
      const rows = [];
      const add = () => {
        const fields = ask.rows.map((a) => field(a, at));
        rows.push(() => Object.fromEntries(ask.rows.map((a, i) => [a.name, fields[i].value()])));
        box.append(make("div", { class: "askrow" }, ...fields.map((f) => f.element)));
        return fields[0].element.querySelector("input") || fields[0].element;
      };
      for (let n = 0; n < ask.count; n++) add();
      const more = make("button", { type: "button", class: "ghost", text: "+ " + words["picker.add"], onclick: () => add().focus() });
      return { element: make("div", {}, box, more), value: () => rows.map((read) => read()) };
    }
  }
  return simple(make("input", { ...named, type: "text" }));
}

// fillBlock asks for what a block needs, and returns what becomes of it.
export const fillBlock = (anchor, block, path, studio) => open(anchor, block.label, (box, done) => {
  const fields = block.asks.map((ask) => ({ ask, ...field(ask, { path: path + "/args/text", studio }) }));
  for (const f of fields) box.append(make("div", { class: "ask" }, make("span", { class: "muted", text: f.ask.label, "aria-hidden": "true" }), f.element));
  box.append(buttons(done, () => ({ block: block.value, ...block.words, ...Object.fromEntries(fields.map((f) => [f.ask.name, f.value()])) })));
});
