// A page that is live must not take away what a person is in the middle of: an open form, a field with the cursor, a step that is unfolded.
document.addEventListener("htmx:beforeRequest", (event) => {
  const region = event.target;
  if (region.id !== "live") return;
  const busy = region.querySelector("details.confirm[open], input:focus, select:focus, button:focus, textarea:focus");
  if (busy) event.preventDefault();
});

// What was unfolded stays so.
let unfolded = new Set();
document.addEventListener("htmx:beforeSwap", (event) => {
  unfolded = new Set();
  event.target.querySelectorAll("details").forEach((d, i) => { if (d.open) unfolded.add(i); });
});
document.addEventListener("htmx:afterSwap", (event) => {
  event.target.querySelectorAll("details").forEach((d, i) => { if (unfolded.has(i)) d.open = true; });
});

// Escape closes a form that asks whether one is sure.
document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  document.querySelectorAll("details.confirm[open], details.stop[open]").forEach((d) => { d.open = false; d.querySelector("summary").focus(); });
});
