// The YAML side of the page on which rules are written: CodeMirror, which asks the console for problems and for what could be written next. It knows nothing
// of rules itself.
import { EditorState, Compartment } from "@codemirror/state";
import { EditorView, keymap, lineNumbers, drawSelection, highlightActiveLine, highlightSpecialChars } from "@codemirror/view";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { syntaxHighlighting, indentUnit, bracketMatching } from "@codemirror/language";
import { yaml } from "@codemirror/lang-yaml";
import { autocompletion, completionKeymap } from "@codemirror/autocomplete";
import { lintGutter, lintKeymap, setDiagnostics } from "@codemirror/lint";
import { classHighlighter } from "@lezer/highlight";
import { isFromPage, replaceText } from "./replace.js";
import { text } from "./text.js";

// The console counts lines and columns from 1, and columns in characters; CodeMirror counts UTF-16 units.
function offsetOf(doc, line, column) {
  const at = doc.line(Math.min(Math.max(line, 1), doc.lines));
  let units = 0;
  for (const character of at.text) {
    if (--column < 1) break;
    units += character.length;
  }
  return Math.min(at.from + units, at.to);
}

function placeOf(doc, offset) {
  const line = doc.lineAt(offset);
  return { line: line.number, column: Array.from(line.text.slice(0, offset - line.from)).length + 1 };
}

// A problem is marked from its place to the end of the word there.
function diagnostics(doc, problems) {
  return problems.map((p) => {
    const from = offsetOf(doc, p.line, p.column);
    const rest = doc.lineAt(from).text.slice(from - doc.lineAt(from).from);
    const word = /^[\w.-]+|^\S/.exec(rest);
    return { from, to: from + (word ? word[0].length : 0), severity: p.severity, message: p.hint ? p.message + " (" + p.hint + ")" : p.message };
  });
}

// create puts an editor into an element. The options: text, nonce of the policy, label, phrases, fixed (nothing can be changed), changed(text, byPerson),
// and complete({line, column, text, explicit}), which promises {length, options}.
function create(parent, options) {
  const dark = new Compartment();
  const media = window.matchMedia("(prefers-color-scheme: dark)");
  const view = new EditorView({
    parent,
    state: EditorState.create({
      doc: options.text,
      extensions: [
        EditorView.cspNonce.of(options.nonce),
        EditorState.phrases.of(options.phrases || {}),
        lineNumbers(),
        lintGutter(),
        history(),
        drawSelection(),
        highlightActiveLine(),
        highlightSpecialChars(),
        bracketMatching(),
        yaml(),
        indentUnit.of("  "),
        syntaxHighlighting(classHighlighter),
        EditorView.lineWrapping,
        EditorView.contentAttributes.of({ "aria-label": options.label, "aria-describedby": options.described || "", spellcheck: "false", autocapitalize: "off", autocorrect: "off" }),
        EditorState.readOnly.of(Boolean(options.fixed)),
        autocompletion({ override: [(context) => complete(context, options)] }),
        // Tab leaves the editor, as it does every other field.
        keymap.of([...completionKeymap, ...lintKeymap.filter((k) => k.key === "F8"), ...defaultKeymap, ...historyKeymap]),
        dark.of(EditorView.darkTheme.of(media.matches)),
        EditorView.updateListener.of((update) => {
          if (update.docChanged) options.changed(view.state.doc.toString(), !isFromPage(update));
        }),
      ],
    }),
  });
  media.addEventListener("change", () => view.dispatch({ effects: dark.reconfigure(EditorView.darkTheme.of(media.matches)) }));
  return {
    get text() { return view.state.doc.toString(); },
    set(text) { replaceText(view, text); },
    problems(list) { view.dispatch(setDiagnostics(view.state, diagnostics(view.state.doc, list))); },
    go(line, column) {
      view.dispatch({ selection: { anchor: offsetOf(view.state.doc, line, column) }, scrollIntoView: true });
      view.focus();
    },
  };
}

async function complete(context, options) {
  if (!context.explicit && !context.matchBefore(/[\w."'-]$|: $|- $/)) return null;
  const found = await options.complete({ ...placeOf(context.state.doc, context.pos), text: context.state.doc.toString(), explicit: context.explicit });
  if (context.aborted || !found || !found.options.length) return null;
  const before = context.state.doc.lineAt(context.pos);
  const typed = Array.from(before.text.slice(0, context.pos - before.from));
  return { from: context.pos - typed.slice(typed.length - found.length).join("").length, options: found.options, validFor: /^[\w.-]*$/ };
}

window.quandoEditor = { create, text };
