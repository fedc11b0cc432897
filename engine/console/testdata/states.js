// Opens everything that can be opened on the page of a rule, and asks axe about each state. It answers with what axe found, and how many states it saw.
async (known) => {
  const dialog = document.getElementById("picker");
  const undo = document.getElementById("undo");
  const found = [];
  const seen = new Set(known);
  const until = async (is) => {
    for (let n = 0; n < 250; n++) {
      if (is()) return true;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    return false;
  };
  const ask = async (state, part) => {
    const { violations } = await axe.run(part, { resultTypes: ["violations"] });
    for (const v of violations) found.push(`${state}: ${v.id}: ${v.nodes.slice(0, 3).map((n) => n.html.slice(0, 200)).join(" | ")}`);
  };
  const close = async () => {
    dialog.close();
    await until(() => !dialog.open && !dialog.childElementCount);
    await new Promise((resolve) => setTimeout(resolve, 20)); // for the page to know that nothing was chosen
  };
  // opens presses something, and asks about the dialog that comes of it.
  const opens = async (state, press) => {
    const before = dialog.firstElementChild;
    press();
    if (!(await until(() => dialog.open && dialog.firstElementChild && dialog.firstElementChild !== before))) return found.push(`${state}: nothing opened`), false;
    seen.add(state);
    await ask(state, dialog);
    return true;
  };
  const blocks = JSON.parse(document.getElementById("lists").textContent).blocks.map((b) => b.value);
  const options = () => [...dialog.querySelectorAll("[role=option]:not(.more)")];

  const kinds = ["chip", "condition", "group", "step", "way", "event", "ending", "bounds", "clock", "more"];
  for (const button of document.querySelectorAll("#rail button")) {
    const kind = kinds.find((k) => k in button.dataset);
    if (!kind || !button.isConnected) continue;
    const chip = kind === "chip" ? JSON.parse(button.dataset.chip) : {};
    const state = [kind, chip.picker, chip.from, chip.term].filter(Boolean).join(" ");
    if (seen.has(state)) continue;
    if (!(await opens(state, () => button.click()))) continue;
    const count = kind === "condition" || kind === "step" ? options().length : 0;
    await close();
    for (let n = 0; n < count; n += kind === "step" ? 1 : 5) { // the blocks come first among the steps
      [...document.querySelectorAll(`#rail button[data-${kind}]`)].find((b) => b.dataset[kind] === button.dataset[kind]).click();
      if (!(await until(() => dialog.open && options().length === count))) { found.push(`${state}: ${options().length} options, before ${count}`); break; }
      const option = options()[n];
      if (kind === "step" && !blocks.includes(option.dataset.value)) { await close(); break; }
      if (kind === "condition" && !option.querySelector("em")) { await close(); continue; } // it has no blanks, and would be in the rule now
      const before = dialog.firstElementChild;
      const label = `${state} ${option.textContent}`;
      option.click();
      await until(() => (dialog.open && dialog.firstElementChild && dialog.firstElementChild !== before) || !undo.disabled);
      if (!undo.disabled) { // its only blank had only one value, and it is in the rule now
        undo.click();
        await until(() => undo.disabled);
        continue;
      }
      seen.add(label);
      await ask(label, dialog);
      await close();
    }
  }
  for (const bubble of document.querySelectorAll("#rail .bubble")) {
    if (seen.has("text")) break;
    seen.add("text");
    const card = bubble.closest("[data-text]");
    bubble.click();
    await until(() => card.querySelector(".cm-editor"));
    await ask("text", card);
    const reached = new Promise((resolve) => { // as soon as it is there, and before anything is drawn
      new MutationObserver(() => { const list = card.querySelector("[role=listbox]"); if (list) resolve(list.tabIndex === 0); }).observe(card, { childList: true, subtree: true });
      setTimeout(resolve, 5000);
    });
    card.querySelector(".under .insert").click();
    if (!(await reached)) found.push("text chips: keys do not reach the menu");
    await ask("text chips", card);
  }
  for (const menu of document.querySelectorAll("#rail details.menu, .menu:has(> summary)")) {
    const state = "menu " + [...menu.querySelectorAll(".sheet > *")].map((e) => e.textContent.trim()).join(" ");
    if (seen.has(state)) continue;
    seen.add(state);
    menu.open = true;
    await new Promise((resolve) => setTimeout(resolve, 50));
    await ask(state, menu);
    menu.open = false;
  }
  return { found, seen: [...seen] };
}
