// The field in which the text of a message is written. Its document is the plain text; every {{ expression }} in it is shown as a chip with the words that the
// console has for it. A chip is one thing: the cursor stops before it, on it and after it, never inside.
import { EditorState, EditorSelection, Prec, StateEffect, StateField } from "@codemirror/state";
import { EditorView, Decoration, WidgetType, drawSelection, keymap, placeholder } from "@codemirror/view";
import { history, historyKeymap, insertNewline, isolateHistory, standardKeymap } from "@codemirror/commands";
import { acceptCompletion, autocompletion, completionStatus, pickedCompletion, startCompletion } from "@codemirror/autocomplete";
import { isFromPage, replaceText } from "./replace.js";

// split finds the {{ expressions }} of a text as rules/internal/template does. It goes on after a {{ that is not closed, so that the chips behind it stay while
// somebody types; a rule with such a text cannot be saved.
function split(text) {
  const found = [];
  for (let open = text.indexOf("{{"); open >= 0;) {
    const end = closing(text, open + 2);
    if (end >= 0) found.push({ from: open, to: end + 2, expression: text.slice(open + 2, end).trim() });
    open = text.indexOf("{{", end < 0 ? open + 2 : end + 2);
  }
  return found;
}

function closing(text, at) {
  for (let depth = 0; at < text.length; at++) {
    const c = text[at];
    if (c === '"' || c === "'" || c === "`") {
      for (at++; at < text.length && text[at] !== c; at++) if (text[at] === "\\" && c !== "`") at++;
    } else if (c === "{") {
      depth++;
    } else if (c === "}") {
      if (depth === 0) return text[at + 1] === "}" ? at : -1;
      depth--;
    }
  }
  return -1;
}

// slashed is a slash at the start of a word, and what follows it.
const slashed = /(?:^|[\s(["'“‘«*_~])\/([^/]*)$/;

const afterSlash = (state) => {
  const { head } = state.selection.main, line = state.doc.lineAt(head);
  return slashed.test(line.text.slice(0, head - line.from));
};

const written = (expression) => "{{ " + expression + " }}";

// wordsIn are the words that a text is found by: people type "proxima" for "próxima".
const wordsIn = (text) => text.normalize("NFD").replace(/\p{M}/gu, "").toLowerCase().split(/[^\p{L}\p{N}]+/u).filter(Boolean);

class Chip extends WidgetType {
  constructor(words, hand, name, chosen) {
    super();
    Object.assign(this, { words, hand, name, chosen });
  }
  eq(other) { return other.words === this.words && other.hand === this.hand && other.name === this.name && other.chosen === this.chosen; }
  toDOM() {
    const dom = document.createElement("span");
    dom.setAttribute("role", "button");
    return this.draw(dom);
  }
  updateDOM(dom) { return Boolean(this.draw(dom)); }
  draw(dom) {
    dom.className = "text-chip" + (this.hand ? " text-chip-hand" : "") + (this.chosen ? " text-chip-chosen" : "");
    dom.setAttribute("aria-label", this.name);
    dom.textContent = this.words;
    return dom;
  }
  ignoreEvent() { return false; }
}

// text puts a field into an element. The options:
//   text, nonce of the policy, label, described (an id), placeholder, fixed (nothing can be changed)
//   chips          [{expression, words, hand}]: what expressions are called; one that is not listed is by hand
//   insertable     [{expression, words, label, group}]: what the menu offers; the label is what it says where that is not the words, and text is inserted instead
//   phrases        the field's own words in the reader's language, by the English ones: "Completions", "by hand: $", "$ inserted", "$ removed",
//                  "$ chosen: Enter changes it, Backspace removes it"
//   changed(text)  a person has changed the text
//   pick(expression, rect, chip)  a person wants to change a chip; chip.replace(expression) and chip.remove() do it, and return whether the chip was still there
function text(parent, options) {
  const described = new Map(), offered = new Map();
  let insertable = [];
  let picked = null; // the range of the chip that the page has a picker open for

  const redraw = StateEffect.define();
  const wordsOf = (expression) => described.get(expression) || offered.get(expression) || { words: expression || "{{ }}", hand: true };
  const nameOf = (state, expression) => {
    const { words, hand } = wordsOf(expression);
    return hand ? state.phrase("by hand: $", words) : words;
  };

  function draw(state, selection, list) {
    return Decoration.set(list.map((chip) => {
      const { words, hand } = wordsOf(chip.expression);
      const within = selection.main.from <= chip.from && chip.to <= selection.main.to;
      const widget = new Chip(words, Boolean(hand), nameOf(state, chip.expression), within);
      return Decoration.replace({ widget }).range(chip.from, chip.to);
    }));
  }
  const chips = StateField.define({
    create(state) {
      const list = split(state.doc.toString());
      return { list, shown: draw(state, state.selection, list) };
    },
    update(value, tr) {
      if (!tr.docChanged && !tr.selection && !tr.effects.some((e) => e.is(redraw))) return value;
      const list = tr.docChanged ? split(tr.newDoc.toString()) : value.list;
      return { list, shown: draw(tr.startState, tr.newSelection, list) };
    },
    provide: (field) => [EditorView.decorations.from(field, (v) => v.shown), EditorView.atomicRanges.of((view) => view.state.field(field).shown)],
  });
  // chosen is the chip that the cursor is on.
  const chosen = (state) => state.field(chips).list.find((c) => c.from === state.selection.main.from && c.to === state.selection.main.to);

  function describe(list) {
    for (const chip of list || []) described.set(chip.expression, chip);
  }
  function offer(list) {
    insertable = list || [];
    offered.clear();
    for (const chip of insertable) if (!chip.text) offered.set(chip.expression, chip);
  }
  describe(options.chips);
  offer(options.insertable);

  // step stops on the chip beside the cursor.
  const step = (forward) => (view) => {
    const at = view.state.selection.main;
    const chip = at.empty && view.state.field(chips).list.find((c) => (forward ? c.from : c.to) === at.head);
    if (!chip) return false;
    const [anchor, head] = forward ? [chip.from, chip.to] : [chip.to, chip.from];
    view.dispatch({ selection: { anchor, head }, scrollIntoView: true, userEvent: "select" });
    return true;
  };

  // put writes something in the place of a range, and leaves the cursor behind it.
  function put(view, from, to, insert, more) {
    if (view.state.readOnly) return;
    view.dispatch({ changes: { from, to, insert }, selection: EditorSelection.cursor(from + insert.length), scrollIntoView: true, userEvent: "input", ...more });
  }

  function pick(view, chip) {
    view.dispatch({ selection: { anchor: chip.from, head: chip.to }, scrollIntoView: true, userEvent: "select" });
    if (!options.pick || view.state.readOnly) return view.focus();
    const mine = picked = { from: chip.from, to: chip.to };
    const dom = [...view.contentDOM.querySelectorAll(".text-chip")].find((e) => view.posAtDOM(e) === chip.from);
    const change = (insert, selection) => {
      if (picked !== mine) return false;
      const { from, to } = mine;
      view.dispatch({ changes: { from, to, insert }, selection: selection(from), scrollIntoView: true, userEvent: "input" });
      if (insert) picked = Object.assign(mine, { from, to: from + insert.length });
      view.focus();
      return true;
    };
    options.pick(chip.expression, dom.getBoundingClientRect(), {
      replace: (expression) => change(written(expression), (from) => ({ anchor: from, head: from + written(expression).length })),
      remove: () => change("", (from) => ({ anchor: from })),
    });
  }

  // menu offers the chips that have every typed word at the start of one of theirs. A slash that has opened it is replaced as well.
  function menu(state, from, to, slash) {
    const typed = state.sliceDoc(from, to);
    if (typed.includes("\n") || (slash && /^\s/.test(typed))) return null;
    const wanted = wordsIn(typed), groups = [...new Set(insertable.map((chip) => chip.group))];
    const options = insertable.filter((chip) => {
      const has = wordsIn((chip.label || chip.words) + " " + (chip.group || ""));
      return wanted.every((start) => has.some((word) => word.startsWith(start)));
    }).map((chip) => ({
      label: chip.label || chip.words,
      section: chip.group ? { name: chip.group, rank: groups.indexOf(chip.group) } : undefined,
      apply: (view, completion, from, to) => put(view, from - slash, to, chip.text || written(chip.expression), { annotations: pickedCompletion.of(completion), userEvent: "input.complete" }),
    }));
    return { from, options, filter: false, update: (result, from, to, context) => menu(context.state, from, to, slash) };
  }
  function complete({ state, pos, explicit }) {
    const line = state.doc.lineAt(pos);
    const typed = slashed.exec(line.text.slice(0, pos - line.from));
    const found = typed ? menu(state, pos - typed[1].length, pos, 1) : explicit ? menu(state, pos, pos, 0) : null;
    return found && found.options.length ? found : null;
  }

  // news is what a screen reader says of a change.
  function news({ state, startState, docChanged, selectionSet }) {
    const on = selectionSet && chosen(state);
    if (on) return state.phrase("$ chosen: Enter changes it, Backspace removes it", nameOf(state, on.expression));
    if (!docChanged) return "";
    const now = state.field(chips).list.map((c) => c.expression), before = startState.field(chips).list.map((c) => c.expression);
    const without = (all, some) => all.filter((e, i) => all.slice(0, i + 1).filter((x) => x === e).length > some.filter((x) => x === e).length);
    const say = (phrase, list) => (list.length ? [state.phrase(phrase, list.map((e) => nameOf(state, e)).join(", "))] : []);
    return [...say("$ removed", without(before, now)), ...say("$ inserted", without(now, before))].join(". ");
  }

  const view = new EditorView({
    parent,
    state: EditorState.create({
      doc: options.text,
      selection: { anchor: options.text.length },
      extensions: [
        EditorView.cspNonce.of(options.nonce),
        EditorState.phrases.of(options.phrases || {}),
        EditorState.readOnly.of(Boolean(options.fixed)),
        EditorState.lineSeparator.of("\n"), // a \r that is in the text stays in it
        EditorView.clipboardInputFilter.of((pasted) => pasted.replace(/\r\n?/g, "\n")),
        history(),
        // A chip that was removed comes back by itself, and not with what was typed just before.
        EditorState.transactionExtender.of((tr) => {
          let removes = false;
          tr.changes.iterChangedRanges((from, to) => { removes ||= tr.startState.field(chips).list.some((c) => from <= c.from && c.to <= to); });
          return removes ? { annotations: isolateHistory.of("full") } : null;
        }),
        drawSelection(),
        chips,
        placeholder(options.placeholder || ""),
        EditorView.lineWrapping,
        EditorView.editorAttributes.of({ class: "text-field" }),
        EditorView.contentAttributes.of({
          "aria-label": options.label, ...(options.described && { "aria-describedby": options.described }), ...(options.fixed && { "aria-readonly": "true" }),
          spellcheck: "true", autocapitalize: "sentences", autocorrect: "on",
        }),
        autocompletion({ override: [complete], icons: false, activateOnTypingDelay: 10, interactionDelay: 0 }),
        Prec.high(keymap.of([
          { key: "Tab", run: acceptCompletion },
          { key: "ArrowLeft", run: step(false) },
          { key: "ArrowRight", run: step(true) },
          { key: "Enter", run(view) {
            const chip = chosen(view.state);
            if (chip) pick(view, chip);
            return chip ? true : insertNewline(view);
          } },
        ])),
        keymap.of([...standardKeymap, ...historyKeymap]), // Tab leaves the field, where no menu is open
        // What is typed on a chip goes beside it, to where the cursor was moving: an arrow and a letter must not cost a chip.
        EditorView.inputHandler.of((view, from, to, typed) => {
          const chip = chosen(view.state);
          if (!chip || from !== chip.from || to !== chip.to) return false;
          const at = view.state.selection.main.head;
          put(view, at, at, typed, { userEvent: "input.type" });
          return true;
        }),
        EditorView.domEventHandlers({
          // A tap on a chip opens its picker, and not the keyboard of a phone.
          mousedown(event) {
            if (event.button !== 0 || !event.target.closest(".text-chip")) return false;
            event.preventDefault();
            return true;
          },
          click(event, view) {
            const dom = event.target.closest(".text-chip");
            const chip = dom && view.state.field(chips).list.find((c) => c.from === view.posAtDOM(dom));
            if (chip) pick(view, chip);
            return Boolean(chip);
          },
          // Nothing chosen, nothing copied; CodeMirror would take the line.
          copy: (event, view) => view.state.selection.main.empty,
          cut: (event, view) => view.state.selection.main.empty,
        }),
        // A list that scrolls can be reached by keys, from the moment it is there.
        EditorView.updateListener.of(({ view }) => view.dom.querySelector("[role=listbox]")?.setAttribute("tabindex", "0")),
        EditorView.updateListener.of((update) => {
          if (update.docChanged && picked) {
            picked.from = update.changes.mapPos(picked.from, 1);
            picked.to = update.changes.mapPos(picked.to, -1);
            if (!update.state.field(chips).list.some((c) => c.from === picked.from && c.to === picked.to)) picked = null;
          }
          if (isFromPage(update)) return;
          if (update.docChanged) options.changed?.(update.state.doc.toString());
          // The menu has closed when nothing was found, and is back when the wrong letters are removed.
          const { state, view } = update;
          if (update.transactions.some((t) => t.isUserEvent("delete.backward")) && !completionStatus(state) && afterSlash(state)) startCompletion(view);
          const said = news(update);
          if (said) view.dispatch({ effects: EditorView.announce.of(said) });
        }),
      ],
    }),
  });
  return {
    get text() { return view.state.doc.toString(); },
    // What a chip is called, and whether it is by hand.
    chipOf: wordsOf,
    set(text) { replaceText(view, text); },
    // The console has described expressions, or offers others.
    describe(list) {
      describe(list);
      view.dispatch({ effects: redraw.of(null) });
    },
    offer(list) {
      offer(list);
      view.dispatch({ effects: redraw.of(null) });
      if (view.hasFocus && !completionStatus(view.state) && afterSlash(view.state)) startCompletion(view); // it was typed before anything was offered
    },
    // insert opens the menu at the cursor, or inserts the expression there.
    insert(expression) {
      view.focus();
      if (!expression) return startCompletion(view);
      const { from, to, head } = view.state.selection.main;
      return chosen(view.state) ? put(view, head, head, written(expression)) : put(view, from, to, written(expression));
    },
    focus() { view.focus(); },
    destroy() { view.destroy(); },
  };
}

export { text };
