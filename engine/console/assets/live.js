// A live page changes in place: what a person looks at, points at or has the focus on stays where it is. Rows that are new wait until they are asked for.
const rowsOf = (list) => [...list.children].filter((row) => row.dataset.row);

// An element with data-row is the same thing only if that is the same.
const isSame = (old, fresh) => old.nodeName === fresh.nodeName && (old.nodeType !== 1 || old.dataset.row === fresh.dataset.row);

// update makes a node like a fresh one. What a person unfolded stays so. With held, it counts there what has to wait.
function update(old, fresh, held) {
  if (old.nodeType !== 1) {
    if (old.nodeValue !== fresh.nodeValue) old.nodeValue = fresh.nodeValue;
    return;
  }
  for (const { name, value } of [...fresh.attributes]) if (name !== "open" && old.getAttribute(name) !== value) old.setAttribute(name, value);
  for (const { name } of [...old.attributes]) if (name !== "open" && !fresh.hasAttribute(name)) old.removeAttribute(name);
  if (held && old.hasAttribute("data-rows")) updateRows(old, rowsOf(fresh), held);
  else updateChildren(old, fresh, held);
}

function updateChildren(old, fresh, held) {
  const next = [...fresh.childNodes];
  next.forEach((node, i) => {
    const here = old.childNodes[i];
    const list = held && here && here.nodeType === 1 && (here.matches("[data-rows]") ? here : here.querySelector("[data-rows]"));
    if (!here) old.append(document.importNode(node, true));
    else if (isSame(here, node)) update(here, node, held);
    else if (list) updateRows(list, [], held); // the list is empty now
    else here.replaceWith(document.importNode(node, true));
  });
  while (old.childNodes.length > next.length) old.lastChild.remove();
}

// updateRows changes the rows that are there, each at its place and with its height. A row that is gone stays, faint.
function updateRows(list, fresh, held) {
  const now = new Map(fresh.map((row) => [row.dataset.row, row]));
  for (const row of rowsOf(list)) {
    const next = now.get(row.dataset.row);
    now.delete(row.dataset.row);
    if (!next) {
      row.classList.add("gone");
      held.changed = true;
      continue;
    }
    const before = row.cloneNode(true);
    const height = row.offsetHeight;
    update(row, next);
    if (row.offsetHeight === height) continue;
    update(row, before);
    held.changed = true;
  }
  held.fresh += now.size;
  if (now.size && now.size === fresh.length) held.more = true; // there may be others behind these
}

const news = document.querySelector(".news");
const title = document.title;
let waiting = null; // the newest answer, while something of it waits

// announce says on a line that is there for it how many rows wait.
function announce(held) {
  const count = held.fresh + (held.more ? "+" : "");
  const text = held.fresh ? news.dataset.fresh.replace("%s", count) : held.changed ? news.dataset.changed : "";
  document.title = held.fresh ? `(${count}) ${title}` : title;
  if (!text) return news.replaceChildren();
  if (!news.firstElementChild) {
    const button = document.createElement("button");
    button.type = "button";
    button.addEventListener("click", show);
    news.append(button);
  }
  if (news.firstElementChild.textContent !== text) news.firstElementChild.textContent = text;
}

// show brings the page up to date, because a person asked for it.
function show() {
  const region = document.getElementById("live");
  region.replaceChildren(...[...waiting.childNodes].map((node) => document.importNode(node, true)));
  waiting = null;
  announce({ fresh: 0 });
  const first = region.querySelector("[data-row] a");
  if (first) first.focus({ preventScroll: true });
}

document.addEventListener("htmx:beforeSwap", (event) => {
  const region = event.detail.target;
  if (region.id !== "live" || event.detail.xhr.status !== 200) return;
  event.detail.shouldSwap = false;
  const page = new DOMParser().parseFromString(event.detail.serverResponse, "text/html");
  const fresh = page.getElementById("live") || page.body;
  const held = news ? { fresh: 0, changed: false } : null;
  updateChildren(region, fresh, held);
  if (!held) return;
  waiting = held.fresh || held.changed ? fresh : null;
  announce(held);
});
