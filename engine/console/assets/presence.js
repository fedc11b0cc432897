// People who change one rule at the same time see each other. A page with changes that are not saved says so again and again, and asks who else does.
const page = document.getElementById("write");
const shown = document.getElementById("present");
const id = crypto.randomUUID();
const again = 15000; // milliseconds; the console forgets a page that is silent for three times as long

let timer = 0;
let asking = false;

function body(changing) {
  const about = new URLSearchParams({ page: id, changing: changing ? "yes" : "" });
  for (const name of ["workspace", "file", "own", "was"]) about.set(name, page.elements[name].value);
  return about;
}

async function ask() {
  clearTimeout(timer);
  timer = setTimeout(ask, again);
  if (asking) return;
  asking = true;
  const answer = await fetch("/write/present", { method: "POST", body: body("changing" in page.dataset) }).catch(() => null);
  asking = false;
  if (answer && answer.ok) show(await answer.json());
}

// show says who is there. A screen reader reads it whenever it changes, so it is left alone while it is the same.
function show({ others, saved }) {
  const now = JSON.stringify([others, saved]);
  if (shown.dataset.now === now) return;
  shown.dataset.now = now;
  shown.hidden = !others.length && !saved;
  shown.replaceChildren(...[...others, saved].filter(Boolean).map((text) => Object.assign(document.createElement("p"), { textContent: text })));
  if (saved) shown.append(Object.assign(document.createElement("a"), { className: "button", href: location.pathname, textContent: shown.dataset.show }));
}

if (page.elements.file.value && page.elements.own.value) {
  let soon = 0;
  const askSoon = () => { clearTimeout(soon); soon = setTimeout(ask, 200); };
  new MutationObserver(askSoon).observe(page, { attributeFilter: ["data-changing"] });
  document.addEventListener("sse:change", askSoon);
  window.addEventListener("pagehide", () => navigator.sendBeacon("/write/present", body(false)));
  ask();
}
