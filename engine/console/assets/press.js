// A press of a mouse or a finger: from when it goes down until its click. What moves away from under it, or is exchanged, gets no click.
const longest = 5000; // milliseconds that anything waits for the end of a press
let pressed = null;
let timer = 0;
const ends = [];

export const isPressing = () => pressed !== null;

// onRelease calls something at the end of every press, before anything else hears of the click.
export function onRelease(call) { ends.push(call); }

// released waits until nothing is pressed that does something, and everything has heard of the click.
export async function released() {
  for (const end = Date.now() + longest; pressed?.closest("a, button, summary, label, input, [role=option]") && Date.now() < end;) await new Promise((resolve) => setTimeout(resolve, 20));
}

function release() {
  clearTimeout(timer);
  pressed = null;
  ends.forEach((call) => call());
}
const on = (names, call) => names.forEach((name) => window.addEventListener(name, call, { capture: true, passive: true }));
on(["mousedown", "touchstart"], (event) => { clearTimeout(timer); pressed = event.target; });
on(["click", "touchcancel", "pointercancel", "dragend"], release);
on(["mouseup"], () => { timer = setTimeout(release); }); // where no click follows
on(["touchend"], () => { timer = setTimeout(release, 350); }); // its click may come a moment later
