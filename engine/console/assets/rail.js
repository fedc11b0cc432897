// The rail of the studio: how it is exchanged for the next one, and the menus of its cards.
import { make, words } from "./pickers.js";
import { keepText } from "./texts.js";

const rail = document.getElementById("rail");

// keyOf names something on the rail, so that it is found again on the next one.
export function keyOf(element) {
  const { chip, step, condition, edits, set, group, more } = element.dataset;
  if (chip) return "chip " + JSON.parse(chip).path;
  for (const [name, value] of Object.entries({ step, condition, edits, set, group, more })) if (value !== undefined) return name + " " + value;
  const text = element.closest("[data-text]");
  return text ? element.tagName + " " + text.dataset.text : null;
}

// inner is what patch goes into: a rule can have many cards, of which a change mostly touches one.
const inner = "#rail, .cards, .spot, .card, .inside, .branches, .branch, .loop";

// patch makes one part of the rail like another, and leaves alone what is the same.
export function patch(old, now) {
  const [a, b] = [[...old.children], [...now.children]];
  if (a.length !== b.length || a.some((e, i) => e.tagName !== b[i].tagName)) return old.replaceChildren(...now.childNodes);
  a.forEach((e, i) => {
    if (e.isEqualNode(b[i]) || keepText(e, b[i])) return;
    if (!e.matches(inner) || e.className !== b[i].className) return e.replaceWith(b[i]);
    for (const { name, value } of b[i].attributes) e.setAttribute(name, value);
    patch(e, b[i]);
  });
}

// The menu of a card is made when it is opened: a rule can have many cards.
rail.addEventListener("toggle", (event) => {
  const menu = event.target;
  if (!menu.matches("details.menu[open]") || menu.querySelector(".sheet").childElementCount) return;
  const card = menu.closest("[data-at]");
  const path = card.dataset.at;
  const list = path.slice(0, path.lastIndexOf("/"));
  const n = Number(path.slice(list.length + 1));
  const last = !card.nextElementSibling?.dataset.at;
  const entry = (word, data) => {
    const button = make("button", { type: "button", text: words["studio." + word] });
    Object.assign(button.dataset, data);
    menu.querySelector(".sheet").append(button);
  };
  const move = (word, to, op = "move") => entry(word, { edits: JSON.stringify([{ op, path, to }]) });
  entry("more", { more: path });
  if (!card.querySelector(":scope > .card > .inside > .only")) entry("only_if", { condition: path + "/if/~if/of/0", op: "add" });
  if (n > 0) move("up", list + "/" + (n - 1));
  if (!last) move("down", list + "/" + (n + 2));
  if (menu.dataset.into) move("into", menu.dataset.into);
  if (menu.dataset.out) move("out", menu.dataset.out);
  move("copy", list + "/" + (n + 1), "copy");
  entry("remove", { edits: JSON.stringify([{ op: "remove", path }]) });
}, true);

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
