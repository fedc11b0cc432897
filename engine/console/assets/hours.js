// Opening hours are changed in fields; the bars show what the fields say, and their ends can be dragged.
const form = document.getElementById("hours");
const minutesOfDay = 1440, step = 15;

// minutes reads a time as a person types it, or is null.
function minutes(text) {
  const m = text.trim().match(/^(\d{1,2})(?:[:.h]?(\d{2})|h|:)?$/i);
  if (!m) return null;
  const at = Number(m[1]) * 60 + Number(m[2] || 0);
  return Number(m[2] || 0) > 59 || at > minutesOfDay ? null : at;
}
const clock = (at) => `${String(Math.floor(at / 60)).padStart(2, "0")}:${String(at % 60).padStart(2, "0")}`;

const fieldsOf = (span) => span.querySelectorAll("input");

// spanOf returns the beginning and the end of a span in minutes; one over midnight ends behind the day.
function spanOf(span) {
  const [from, to] = [...fieldsOf(span)].map((field) => minutes(field.value));
  if (from === null || to === null) return null;
  return { from, to: to <= from ? to + minutesOfDay : to };
}

function draw(svg, name, values) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const key in values) node.setAttribute(key, values[key]);
  svg.append(node);
  return node;
}

// show draws the bars of all days: what a day has after midnight is drawn on the next one.
function show() {
  const days = [...form.querySelectorAll(".day")];
  for (const day of days) day.querySelector(".bars").replaceChildren();
  days.forEach((day, i) => {
    const svg = day.querySelector(".bars");
    [...day.querySelectorAll(".span")].forEach((span, at) => {
      for (const field of fieldsOf(span)) field.setAttribute("aria-invalid", String(field.value.trim() !== "" && minutes(field.value) === null));
      const s = spanOf(span);
      if (!s) return;
      const end = Math.min(s.to, minutesOfDay);
      draw(svg, "rect", { class: "open", x: s.from, y: 2, width: end - s.from, height: 20 });
      if (s.to > minutesOfDay) draw(days[(i + 1) % 7].querySelector(".bars"), "rect", { class: "tail", x: 0, y: 2, width: s.to - minutesOfDay, height: 20 });
      [s.from, end].forEach((x, side) => {
        draw(svg, "line", { class: "grip", x1: x, x2: x, y1: 2, y2: 22 });
        draw(svg, "line", { class: "handle", x1: x, x2: x, y1: 0, y2: 24, "data-span": at, "data-side": side });
      });
    });
  });
}

// changed shows what the fields say, and asks what that would change.
function changed() {
  show();
  form.dispatchEvent(new Event("input", { bubbles: true }));
}

// drag moves an end of a bar with the pointer, by quarters of an hour.
function drag(event) {
  const handle = event.target.closest(".handle");
  if (!handle || event.button > 0) return;
  event.preventDefault();
  const day = handle.closest(".day"), svg = day.querySelector(".bars");
  const span = day.querySelectorAll(".span")[handle.dataset.span], side = Number(handle.dataset.side);
  const box = svg.getBoundingClientRect();
  const move = (e) => {
    const s = spanOf(span);
    if (!s) return;
    let at = Math.round(((e.clientX - box.left) / box.width) * minutesOfDay / step) * step;
    at = side ? Math.max(s.from + step, Math.min(at, minutesOfDay)) : Math.min(Math.max(at, 0), Math.min(s.to, minutesOfDay) - step);
    fieldsOf(span)[side].value = clock(at);
    show();
  };
  const end = () => {
    document.removeEventListener("pointermove", move);
    document.removeEventListener("pointerup", end);
    document.removeEventListener("pointercancel", end);
    changed();
  };
  document.addEventListener("pointermove", move);
  document.addEventListener("pointerup", end);
  document.addEventListener("pointercancel", end);
}

// newSpan adds a span to a day, behind its last one.
function newSpan(holder, from, to) {
  const name = holder.dataset.field;
  const span = document.getElementById("newspan").content.cloneNode(true).firstElementChild;
  const title = holder.getAttribute("aria-label");
  fieldsOf(span).forEach((field, side) => {
    field.name = `${name}.${side ? "to" : "from"}`;
    field.value = side ? to : from;
    field.setAttribute("aria-label", title + field.getAttribute("aria-label"));
  });
  const remove = span.querySelector("button");
  remove.setAttribute("aria-label", `${remove.title}: ${title} ${from}`);
  holder.querySelector(".spans").append(span);
  return span;
}

// nextSpan suggests hours: the usual ones for an empty day, else the time behind the last ones.
function nextSpan(holder) {
  const ends = [...holder.querySelectorAll(".span")].map(spanOf).filter(Boolean).map((s) => s.to);
  const last = Math.max(...ends, 0);
  if (!ends.length || last + 60 >= minutesOfDay) return ends.length ? ["", ""] : ["08:00", "18:00"];
  return [clock(last + 60), clock(Math.min(last + 5 * 60, minutesOfDay))];
}

function copy(button) {
  const from = button.closest(".day");
  const spans = [...from.querySelectorAll(".span")].map((span) => [...fieldsOf(span)].map((field) => field.value));
  for (const i of button.dataset.copy.split(" ")) {
    const to = form.querySelector(`.day[data-day="${i}"]`);
    if (to === from) continue;
    to.querySelector(".spans").replaceChildren();
    for (const [a, b] of spans) newSpan(to, a, b);
  }
  const menu = button.closest("details");
  menu.open = false;
  menu.querySelector("summary").focus();
}

let specials = 1000; // rows that are added are numbered from here
function newSpecial() {
  const row = document.getElementById("newspecial").content.cloneNode(true).firstElementChild;
  const name = `special${specials}`;
  row.dataset.field = name;
  row.querySelector("[name=special]").value = specials++;
  for (const field of row.querySelectorAll("[name^='special-1']")) field.name = field.name.replace("special-1", name);
  document.getElementById("specials").append(row);
  row.querySelector("[type=date]").focus();
}

function press(event) {
  const button = event.target.closest("button");
  if (!button) return;
  const holder = button.closest("[data-field]");
  if (button.hasAttribute("data-add")) {
    fieldsOf(newSpan(holder, ...nextSpan(holder)))[0].select();
  } else if (button.dataset.remove) {
    const next = holder.querySelector("[data-add]");
    button.closest(button.dataset.remove).remove();
    (document.contains(next) ? next : document.getElementById("addspecial")).focus();
  } else if (button.dataset.copy) {
    copy(button);
  } else if (button.id === "addspecial") {
    return newSpecial();
  } else if (button.id === "addholiday") {
    const label = button.previousElementSibling, again = label.cloneNode(true);
    again.querySelector("input").value = "";
    label.after(again);
    return again.querySelector("input").focus();
  } else return;
  changed();
}

if (form) {
  form.addEventListener("pointerdown", drag);
  form.addEventListener("click", press);
  form.addEventListener("input", show);
  // A time is written out when the field is left.
  form.addEventListener("change", (event) => {
    if (!event.target.closest(".span")) return;
    const at = minutes(event.target.value);
    if (at !== null) event.target.value = clock(at);
  });
  // Enter saves only from the button: half a time must not be saved.
  form.addEventListener("keydown", (event) => { if (event.key === "Enter" && event.target.matches("input")) { event.preventDefault(); event.target.dispatchEvent(new Event("change", { bubbles: true })); } });
  show();
}
