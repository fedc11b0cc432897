// Search from everywhere: "/" or Ctrl-K opens it, arrow keys choose, Enter opens what is chosen.
const dialog = document.getElementById("search");
const field = dialog.querySelector("input");
const list = document.getElementById("hits");
const said = dialog.querySelector("[role=status]");
let asked = null; // the request that is under way
let shown = ""; // what the list is the answer to
let timer = 0;
let entered = false; // Enter was pressed before the answer came

const options = () => [...list.querySelectorAll("[role=option]")];

// choose makes one of the options the active one; none is -1.
function choose(index) {
  const all = options();
  all.forEach((option, i) => { option.classList.toggle("active", i === index); option.setAttribute("aria-selected", i === index); });
  if (index < 0 || !all.length) return field.removeAttribute("aria-activedescendant");
  field.setAttribute("aria-activedescendant", all[index].id);
  all[index].scrollIntoView({ block: "nearest" });
}

// show puts an answer into the list. Its links become options, and stay links for the mouse.
function show(text, html) {
  const answer = new DOMParser().parseFromString(html, "text/html");
  answer.querySelectorAll("ul, li, h2").forEach((e) => e.setAttribute("role", "presentation"));
  answer.querySelectorAll("a").forEach((a, i) => { a.id = "hit-" + i; a.setAttribute("role", "option"); a.tabIndex = -1; });
  list.replaceChildren(...answer.body.childNodes);
  shown = text;
  const count = options().length;
  field.setAttribute("aria-expanded", count > 0);
  said.textContent = count ? said.dataset.found.replace("%s", count) : text ? said.dataset.none : "";
  choose(count ? 0 : -1);
  if (entered && count) options()[0].click();
  entered = false;
}

async function ask() {
  const text = field.value.trim();
  if (asked) asked.abort();
  asked = new AbortController();
  if (!text) return show("", "");
  try {
    const answer = await fetch("/search?q=" + encodeURIComponent(text), { headers: { "HX-Request": "true" }, signal: asked.signal });
    if (!answer.ok) throw new Error(answer.status);
    show(text, await answer.text());
  } catch (error) {
    if (error.name === "AbortError") return;
    show("", "");
    list.textContent = said.textContent = said.dataset.failed;
  }
}

function open() {
  if (dialog.open) return;
  dialog.showModal();
  field.select();
  if (field.value.trim() !== shown) ask();
}

const writes = (e) => e.isContentEditable || e.matches("input, textarea, select");

document.addEventListener("keydown", (event) => {
  const wanted = event.key === "/" && !event.ctrlKey && !event.metaKey && !event.altKey && !writes(event.target) || (event.ctrlKey || event.metaKey) && !event.shiftKey && !event.altKey && event.key.toLowerCase() === "k";
  if (!wanted || event.defaultPrevented || document.querySelector("dialog[open]")) return;
  event.preventDefault();
  open();
});
document.querySelector(".opensearch").addEventListener("click", (event) => {
  if (event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  open();
});
dialog.querySelector("[data-close]").addEventListener("click", () => dialog.close());
dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
field.addEventListener("input", () => { entered = false; clearTimeout(timer); timer = setTimeout(ask, 80); });
field.addEventListener("keydown", (event) => {
  const all = options();
  const at = all.findIndex((option) => option.classList.contains("active"));
  if ((event.key === "ArrowDown" || event.key === "ArrowUp") && all.length) {
    event.preventDefault();
    choose((at + (event.key === "ArrowDown" ? 1 : all.length - 1)) % all.length);
  }
});
field.form.addEventListener("submit", (event) => {
  event.preventDefault();
  if (field.value.trim() === shown) return list.querySelector(".active")?.click();
  // What was typed since the list came has not been looked for yet.
  entered = true;
  clearTimeout(timer);
  ask();
});
