// The cards of the studio: they fold, are dragged, and moved by keys. A card that is gone can be had back for a while.
import { make } from "./pickers.js";

const rail = document.getElementById("rail");
const narrow = window.matchMedia("(max-width: 700px)");
const many = 12; // steps, above which cards are folded unless somebody opens them

let opened = new Map(); // what a person has folded or unfolded, by the card's path

// fold shows of each card what is unfolded.
export function fold() {
  const cards = rail.querySelectorAll("[data-list] > [data-at]");
  const open = !narrow.matches && cards.length <= many;
  for (const card of cards) {
    const button = card.querySelector(":scope > .card > .inside > .say > .fold");
    if (!button) continue;
    const is = opened.get(card.dataset.at) ?? (open || Boolean(card.querySelector(".complaint, .bare")));
    card.toggleAttribute("data-folded", !is);
    button.setAttribute("aria-expanded", is);
  }
}

// unfold opens a card, and those that it is inside of.
export function unfold(card) {
  for (let at = card; at; at = at.parentElement.closest("[data-at]")) opened.set(at.dataset.at, true);
  fold();
}

rail.addEventListener("click", (event) => {
  const say = event.target.closest(".say");
  const card = say?.parentElement.closest("[data-at]");
  if (!card || say.parentElement.parentElement.parentElement !== card || !say.querySelector(":scope > .fold")) return;
  if (event.target.closest("button") && !event.target.closest(".fold")) return;
  opened.set(card.dataset.at, "folded" in card.dataset);
  fold();
});
narrow.addEventListener("change", fold);

// place returns a path as its list and its index there; null if it leads to no step.
function place(path) {
  const found = /^(.*\/)(\d+)$/.exec(path || "");
  return found && { list: found[1], n: Number(found[2]) };
}

// along returns where a path leads after steps were put in (by 1) or taken out (by -1) at a place.
function along(path, at, by) {
  const to = place(at);
  if (!to || !path.startsWith(to.list)) return path;
  const [n, ...rest] = path.slice(to.list.length).split("/");
  return Number(n) >= to.n + (by < 0 ? 1 : 0) ? [to.list + (Number(n) + by), ...rest].join("/") : path;
}

const isInside = (path, at) => path === at || path.startsWith(at + "/");

// landed returns the path of what an edit has moved or copied.
export function landed(edit) { return edit.op === "move" ? along(edit.to, edit.path, -1) : edit.to; }

// follow returns where a path leads after an edit, or null if it is gone with what was removed. More is how many steps a building block has put in.
function follow(path, edit, more) {
  const { op, to } = edit;
  if (op === "move") return isInside(path, edit.path) ? landed(edit) + path.slice(edit.path.length) : along(along(path, edit.path, -1), landed(edit), 1);
  if (op === "copy") return along(path, to, 1);
  if (op === "remove" && place(edit.path)) return isInside(path, edit.path) ? null : along(path, edit.path, -1);
  return op === "add" || op === "block" ? along(path, edit.path, op === "add" ? 1 : more) : path;
}

// pointAt remembers edits, or whatever else has a path, while others are shown: their paths go along with what they lead to.
const pointed = new Set();
export function pointAt(edits) {
  const pointer = { edits };
  pointed.add(pointer);
  return pointer;
}

// letGo returns what was pointed at, with the paths that lead there now; null if it is gone.
export function letGo(pointer) {
  pointed.delete(pointer);
  return pointer.edits;
}

// shifted takes what is unfolded, and what is pointed at, along with the steps. More returns how many steps a building block has put in.
export function shifted(edits, more) {
  for (const edit of edits) {
    const n = edit.op === "block" ? more(place(edit.path).list) : 0;
    opened = new Map([...opened].map(([path, is]) => [follow(path, edit, n), is]).filter(([path]) => path !== null));
    for (const pointer of pointed) {
      const now = pointer.edits?.map((e) => ({ ...e, path: follow(e.path, edit, n), ...(e.to && { to: follow(e.to, edit, n) }) }));
      pointer.edits = now?.some((e) => e.path === null || e.to === null) ? null : now;
    }
  }
}

// Alt and an arrow move the card that the cursor is in.
let [moved, dropped] = [];
export function onMove(byKey, byHand) { [moved, dropped] = [byKey, byHand]; }
rail.addEventListener("keydown", (event) => {
  const way = { ArrowUp: "up", ArrowDown: "down", ArrowRight: "into", ArrowLeft: "out" }[event.key];
  const card = event.target.closest("[data-list] > [data-at]");
  if (!way || !event.altKey || !card || event.target.matches("input, textarea, [contenteditable]")) return;
  event.preventDefault();
  moved(card.dataset.at, way);
});

// A card is dragged by its grip. It can be put wherever a step can be added.
rail.addEventListener("pointerdown", (event) => {
  if (event.button || !event.target.matches(".grip")) return;
  event.preventDefault();
  const card = event.target.closest("[data-at]");
  const path = card.dataset.at;
  const end = new AbortController();
  const on = (name, fn) => document.addEventListener(name, fn, { signal: end.signal });
  let target = null;
  let over = null; // a folded card that opens when one stays above it
  let timer = 0;
  const mark = (spot) => {
    if (spot === target) return;
    target?.removeAttribute("data-drop");
    target = spot;
    target?.setAttribute("data-drop", "");
  };
  const leave = () => {
    clearTimeout(timer);
    end.abort();
    card.removeAttribute("data-dragged");
    mark(null);
  };
  on("pointermove", (e) => {
    card.setAttribute("data-dragged", "");
    if (e.clientY < 70) window.scrollBy(0, -14);
    if (e.clientY > window.innerHeight - 90) window.scrollBy(0, 14);
    mark(nearest(card, e.clientX, e.clientY));
    const above = document.elementFromPoint(e.clientX, e.clientY)?.closest("[data-folded]");
    if (above === over) return;
    over = above;
    clearTimeout(timer);
    if (over && over !== card) timer = setTimeout(unfold, 600, over);
  });
  on("pointerup", () => {
    const to = target?.querySelector(":scope > [data-step]").dataset.step;
    leave();
    if (to && landed({ op: "move", path, to }) !== path) dropped({ op: "move", path, to });
  });
  on("pointercancel", leave);
  on("keydown", (e) => { if (e.key === "Escape") leave(); });
});

// nearest returns the place at which something that is dropped would come to be: the one whose upper edge is nearest, in the innermost list that is there.
function nearest(card, x, y) {
  let best = null;
  let least = Infinity;
  for (const spot of rail.querySelectorAll("[data-list] > .spot")) {
    const box = spot.getBoundingClientRect();
    if (card.contains(spot) && spot !== card || !box.height) continue;
    const aside = Math.max(box.left - x, x - box.right, 0);
    const far = aside * 4 + Math.abs(box.top - y) + box.width / 1000;
    if (far < least) [least, best] = [far, spot];
  }
  return best;
}

// toast says something for a while, with what can be done about it.
export function toast(text, action, fn) {
  const shown = document.getElementById("toast");
  const gone = () => shown.replaceChildren();
  shown.replaceChildren(make("span", { text }), make("button", { type: "button", class: "ghost", text: action, onclick: () => { gone(); fn(); } }));
  clearTimeout(toast.timer);
  toast.timer = setTimeout(gone, 10000);
}
