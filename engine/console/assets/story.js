// A line of a story is a link to why it happened. The answer is taken over into the column beside the story, so that nothing else moves.
const mark = (id) => document.querySelectorAll("a[data-why]").forEach((a) => (a.dataset.why === id ? a.setAttribute("aria-current", "true") : a.removeAttribute("aria-current")));

let asked = 0;
document.addEventListener("click", async (event) => {
  const line = event.target.closest("a[data-why]");
  const why = document.getElementById("why");
  if (!line || !why || event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
  event.preventDefault();
  const own = ++asked;
  const answer = await fetch(line.href).catch(() => null);
  if (own !== asked) return;
  const page = answer && answer.ok && new DOMParser().parseFromString(await answer.text(), "text/html");
  const fresh = page && page.getElementById("why");
  if (!fresh) return void (location.href = line.href);
  why.replaceChildren(...[...fresh.childNodes].map((node) => document.importNode(node, true)));
  history.replaceState(null, "", line.href);
  mark(line.dataset.why);
  if (why.getBoundingClientRect().top > window.innerHeight * 0.7) why.focus(); // it is below the story
});

// The story asks for itself as it is shown now, so that the chosen line stays chosen.
document.addEventListener("htmx:configRequest", (event) => {
  if (event.target.id === "live" && document.getElementById("why")) event.detail.path = location.pathname + location.search;
});
