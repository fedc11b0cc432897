// The rail of the studio: how it is exchanged for the next one, and the menus of its cards.
import { letGo, pointAt } from "./cards.js";
import { make, words } from "./pickers.js";
import { hasOpenText, keepText } from "./texts.js";

const rail = document.getElementById("rail");

// keyOf names something on the rail by what it does and the path of what that is about, so that it is found again on the next one.
const placed = ["step", "condition", "set", "group", "more", "way"]; // these have the path as they are
const alone = ["event", "ending", "bounds", "clock"]; // of these there is one
function keyOf(element) {
  const { dataset } = element;
  const card = element.closest("[data-at]")?.dataset.at;
  if (dataset.entry) return { by: "entry", path: card, op: dataset.entry };
  for (const by of ["chip", "edits"]) {
    if (!(by in dataset)) continue;
    const of = [JSON.parse(dataset[by])].flat()[0];
    return { by, path: of.path, op: of.op };
  }
  const by = [...placed, ...alone].find((name) => name in dataset);
  if (by) return { by, path: placed.includes(by) ? dataset[by] : "", op: dataset.op };
  const text = element.closest("[data-text]");
  if (text) return { by: "text", path: text.dataset.text, op: element.tagName };
  return element.matches(".menu > summary") ? { by: "menu", path: card } : null;
}

const isSame = (a, b) => Boolean(a && b) && a.by === b.by && a.path === b.path && a.op === b.op;

// withKey returns what has a key on the rail.
function withKey(key) {
  const path = CSS.escape(key.path);
  const selector = {
    entry: `[data-at="${path}"] > .card > .menu [data-entry]`, menu: `[data-at="${path}"] > .card > .menu > summary`, text: `[data-text="${path}"] *`, chip: `[data-chip*="${path}"]`, edits: `[data-edits*="${path}"]`,
  }[key.by] || (alone.includes(key.by) ? `[data-${key.by}]` : `[data-${key.by}="${path}"]`);
  return [...rail.querySelectorAll(selector)].filter((e) => !e.hidden && isSame(keyOf(e), key));
}

// pointTo points at something on the rail. The function that it returns finds it on the rail as that is then, or returns nothing.
export function pointTo(element) {
  const key = keyOf(element);
  if (!key) return () => (element.isConnected ? element : null);
  const n = Math.max(withKey(key).indexOf(element), 0);
  const pointer = pointAt([key]);
  return () => {
    const [now] = letGo(pointer) || [];
    return now && (element.isConnected && isSame(keyOf(element), now) ? element : withKey(now)[n]);
  };
}

// inner is what patch goes into: a rule can have many cards, of which a change mostly touches one.
const inner = "#rail, .cards, .spot, .card, .inside, .branches, .branch, .loop";

let shown = []; // the parts of the rail: what is before the steps, each step, and what is behind them

// grown returns how many steps a list has more on the next rail than on this one.
export function grown(list, now) {
  const count = (of) => of.querySelectorAll(`[data-list="${CSS.escape(list.slice(0, -1))}"] > :is([data-at], [data-same])`).length;
  return count(now) - count(rail);
}

// next returns the next rail, from its parts; an empty one is as before. A card that is the same is only mentioned in it: a rule can have many of them, and most stay
// the same.
export function next(parts) {
  const now = make("div");
  const isCard = (i) => i > 0 && i < parts.length - 1 && i < shown.length - 1;
  parts = parts.map((part, i) => part || shown[i]);
  now.innerHTML = parts.map((part, i) => (isCard(i) && part === shown[i] ? `<li data-same="${i - 1}"></li>` : part)).join("");
  shown = parts;
  return now;
}

// patch makes one part of the rail like another, and leaves alone what is the same. The text that somebody is writing stays on the page, with its cursor and its menu.
export function patch(old, now) {
  const [a, b] = [[...old.children], [...now.children]];
  const list = old.matches(".cards");
  if (!list && a.length !== b.length || a.some((e, i) => b[i] && e.tagName !== b[i].tagName)) return exchange(old, now);
  a.forEach((e, i) => (b[i] ? patchOne(e, b[i]) : e.remove()));
  old.append(...b.slice(a.length));
}

function patchOne(old, now) {
  if ("same" in now.dataset || old.isEqualNode(now) || keepText(old, now)) return;
  if (!hasOpenText(old, now) && (!old.matches(inner) || old.className !== now.className)) return old.replaceWith(whole(now));
  for (const { name, value } of now.attributes) old.setAttribute(name, value);
  patch(old, now);
}

// exchange puts other things into a part, around the text that somebody is writing.
function exchange(old, now) {
  const open = [...old.children].flatMap((e) => [...now.children].filter((n) => hasOpenText(e, n)).map((n) => [e, n]))[0];
  if (!open) return old.replaceChildren(...whole(now).childNodes);
  const [stays, like] = open;
  whole(now, like);
  [...old.childNodes].forEach((e) => { if (e !== stays) e.remove(); });
  let behind = false;
  for (const n of [...now.childNodes]) {
    if (n === like) behind = true;
    else if (behind) old.append(n);
    else stays.before(n);
  }
  patchOne(stays, like);
}

// whole puts the cards that are only mentioned where they are mentioned, but in one part.
function whole(part, but) {
  part.querySelectorAll("[data-same]").forEach((e) => { if (!but?.contains(e)) e.replaceWith(rail.querySelector(`[data-at="/do/${e.dataset.same}"]`)); });
  return part;
}

// The menu of a card is made when it is opened: a rule can have many cards.
rail.addEventListener("toggle", (event) => {
  const menu = event.target;
  if (menu.matches("details.menu[open]") && !menu.querySelector(".sheet").childElementCount) fillMenu(menu);
}, true);

function fillMenu(menu) {
  const card = menu.closest("[data-at]");
  const path = card.dataset.at;
  const to = movesOf(card);
  const entry = (word, data) => {
    const button = make("button", { type: "button", text: words["studio." + word] });
    Object.assign(button.dataset, { entry: word, ...data });
    menu.querySelector(".sheet").append(button);
  };
  const edit = (word, op, more) => entry(word, { edits: JSON.stringify([{ op, path, ...more }]) });
  entry("more", { more: path });
  if (!card.querySelector(":scope > .card > .inside > .only")) entry("only_if", { condition: path + "/if/~if/of/0", op: "add" });
  for (const way of ["up", "down", "into", "out"]) if (to[way]) edit(way, "move", { to: to[way] });
  if ("off" in menu.dataset) edit("on_now", "remove", { path: path + "/enabled" });
  else edit("off_now", "set", { path: path + "/enabled", value: "false" });
  edit("copy", "copy", { to: to.behind });
  edit("remove", "remove");
}

// keepMenu remembers the menu that is open. The function that it returns opens it again if it was exchanged.
export function keepMenu() {
  const open = rail.querySelector("details.menu[open]");
  const again = open && pointTo(open.querySelector("summary"));
  return () => {
    const menu = again?.()?.parentElement;
    if (!menu || menu.open) return;
    menu.open = true;
    fillMenu(menu);
  };
}

// movesOf returns where a card can be moved to, one place at a time.
export function movesOf(card) {
  const path = card.dataset.at;
  const list = path.slice(0, path.lastIndexOf("/") + 1);
  const n = Number(path.slice(list.length));
  const { into, out } = card.querySelector(":scope > .card > .menu").dataset;
  return { up: n > 0 && list + (n - 1), down: card.nextElementSibling?.dataset.at && list + (n + 2), into, out, behind: list + (n + 1) };
}

// closeMenu closes the menu that a button is in, and returns what stays.
export function closeMenu(button) {
  const menu = button.closest("details.menu");
  if (!menu) return button;
  menu.open = false;
  menu.querySelector("summary").focus();
  return menu.querySelector("summary");
}

// Only one menu is open, and Escape closes it.
document.addEventListener("click", (event) => rail.querySelectorAll("details.menu[open]").forEach((d) => { if (!d.contains(event.target)) d.open = false; }));
rail.addEventListener("keydown", (event) => {
  const menu = event.target.closest("details.menu[open]");
  if (event.key === "Escape" && menu) {
    menu.open = false;
    menu.querySelector("summary").focus();
  }
});
