// A page that is live must not take away what a person is in the middle of: an open form, a field with the cursor, a step that is unfolded.
document.addEventListener("htmx:beforeRequest", (event) => {
  const region = event.target;
  if (region.id !== "live" && region.id !== "stopping") return;
  const busy = region.querySelector("details.confirm[open], details.stop[open], input:not([type='checkbox']):focus, select:focus, textarea:focus");
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

// What a person searches for while typing stays in the address, as if the form had been sent.
document.addEventListener("htmx:afterSettle", (event) => {
  const config = event.detail.requestConfig;
  if (config && config.elt.matches("form[data-address]")) history.replaceState(null, "", event.detail.pathInfo.finalRequestPath);
});

// Escape closes a form that asks whether one is sure.
document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  document.querySelectorAll("details.confirm[open], details.stop[open]").forEach((d) => { d.open = false; d.querySelector("summary").focus(); });
});

// Whoever looks at a page must know when it is not live any more: nobody answers, or the session has ended.
const lost = document.getElementById("lost");
async function lookAgain() {
  const answer = await fetch("/stopping", { method: "HEAD" }).catch(() => null);
  if (answer && answer.ok) return found();
  const ended = answer && answer.status === 401;
  const text = ended ? lost.dataset.ended : lost.dataset.lost;
  if (!lost.hidden && lost.firstChild.textContent === text + " ") return;
  lost.replaceChildren(text + " ");
  if (ended) {
    const enter = document.createElement("a");
    enter.href = "/login";
    enter.target = "_blank";
    enter.textContent = lost.dataset.enter;
    lost.append(enter);
  }
  lost.hidden = false;
}
function found() {
  if (lost.hidden) return;
  lost.hidden = true;
  document.querySelectorAll("[hx-trigger='sse:change']").forEach((region) => window.htmx.trigger(region, "sse:change"));
}
if (lost) {
  document.addEventListener("htmx:sseError", lookAgain);
  document.addEventListener("htmx:sseOpen", found);
  window.addEventListener("focus", () => { if (!lost.hidden) lookAgain(); });
}
