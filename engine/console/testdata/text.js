// A page with nothing but the field: what it is told is kept where the test looks for it.
const formats = document.getElementById("formats");
window.told = [];
window.field = window.quandoEditor.text(document.getElementById("field"), {
  text: "Olá {{ contact.first_name }}! Estamos fechados e voltamos {{ next_open('office').Format('Monday, 15:04') }}. É urgente?",
  nonce: document.querySelector('meta[name="style-nonce"]').content,
  label: "Texto da mensagem",
  placeholder: "Escreva a mensagem, / insere",
  phrases: {
    "Completions": "O que pode ser inserido", "by hand: $": "à mão: $", "$ inserted": "$ inserido", "$ removed": "$ removido",
    "$ chosen: Enter changes it, Backspace removes it": "$ escolhido: Enter altera, Backspace remove",
  },
  chips: [
    { expression: "contact.first_name", words: "primeiro nome do cliente" },
    { expression: "next_open('office').Format('Monday, 15:04')", words: "próxima abertura · “segunda, 8:00”" },
  ],
  insertable: [
    { expression: "contact.name", words: "nome do cliente", group: "Cliente" },
    { expression: "contact.first_name", words: "primeiro nome do cliente", group: "Cliente" },
    { expression: "next_open('office').Format('15:04')", words: "próxima abertura", group: "Horários" },
    { expression: "attendance.protocol", words: "protocolo", group: "Atendimento" },
  ],
  changed(text) { window.told.push(text); },
  pick(expression, rect, chip) {
    window.picked = { expression, width: rect.width, typing: document.getElementById("field").contains(document.activeElement) };
    formats.onclick = () => chip.replace("next_open('office').Format('02/01 15:04')");
    formats.focus();
  },
});
document.getElementById("insert").addEventListener("click", () => window.field.insert());
