// Enter sends what is written, Shift+Enter begins a new line. A message that is on its way is not sent twice.
document.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing || !event.target.matches(".compose textarea")) return;
  event.preventDefault();
  event.target.form.requestSubmit();
});

let sent = null;
document.addEventListener("submit", (event) => {
  if (!event.target.closest(".compose")) return;
  if (sent === event.target) return event.preventDefault();
  sent = event.target;
});
// A page that the browser brings back from its memory can be written on again.
window.addEventListener("pageshow", () => { sent = null; });
