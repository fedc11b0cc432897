// A list is filtered as soon as something is chosen.
const form = document.querySelector("form[data-at-once]");
if (form) {
  form.dataset.ready = "";
  const send = () => {
    for (const field of form.elements) if (field.name && !field.value) field.disabled = true; // an empty filter does not stand in the address
    form.submit();
  };
  form.addEventListener("change", (event) => {
    if (event.target.name === "day" && event.target.value) form.elements.since.value = "";
    if (event.target.name === "since" && event.target.value) form.elements.day.value = "";
    send();
  });
}
