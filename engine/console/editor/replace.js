// What the page writes into an editor, as told from what a person types.
import { Transaction } from "@codemirror/state";

const page = "form";

// replaceText changes only what differs, so that the cursor stays and one step back undoes it.
export function replaceText(view, text) {
  const old = view.state.doc.toString();
  if (old === text) return;
  let from = 0;
  while (from < old.length && from < text.length && old[from] === text[from]) from++;
  let end = 0;
  while (end < old.length - from && end < text.length - from && old[old.length - 1 - end] === text[text.length - 1 - end]) end++;
  view.dispatch({ changes: { from, to: old.length - end, insert: text.slice(from, text.length - end) }, userEvent: page });
}

export function isFromPage(update) {
  return update.transactions.some((t) => t.annotation(Transaction.userEvent) === page);
}
