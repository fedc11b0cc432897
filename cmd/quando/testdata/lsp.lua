-- Drives quando lsp as a person does in Neovim, and writes what the person would see as JSON.
-- It runs in the folder of a project; LSP_RESULT names the file for the result.
local result = {}
local messages, logs = {}, {}
local wait = 30000

local function write()
  local f = assert(io.open(os.getenv("LSP_RESULT"), "w"))
  f:write(vim.fn.json_encode(result))
  f:close()
end

local exit_code
local client = vim.lsp.start_client({
  name = "quando",
  cmd = { "quando", "lsp" },
  root_dir = vim.fn.getcwd(),
  flags = { debounce_text_changes = 0 },
  handlers = {
    ["window/showMessage"] = function(_, m) table.insert(messages, m.message) end,
    ["window/logMessage"] = function(_, m) table.insert(logs, m.message) end,
  },
  on_exit = function(code) exit_code = code end,
})

local function open(file)
  vim.cmd("edit! " .. file)
  local buffer = vim.api.nvim_get_current_buf()
  vim.lsp.buf_attach_client(buffer, client)
  return buffer
end

local function problems(buffer, wanted)
  vim.wait(wait, function() return #vim.diagnostic.get(buffer) == wanted end, 10)
  local list = {}
  for _, d in ipairs(vim.diagnostic.get(buffer)) do
    table.insert(list, { line = d.lnum, from = d.col, to = d.end_col, severity = d.severity, message = d.message, source = d.source })
  end
  return list
end

-- at puts the cursor behind the first appearance of a text in the current buffer.
local function at(text)
  for number, line in ipairs(vim.api.nvim_buf_get_lines(0, 0, -1, false)) do
    local _, to = line:find(text, 1, true)
    if to then
      vim.api.nvim_win_set_cursor(0, { number, to - 1 })
      return
    end
  end
  error("there is no " .. text)
end

local function ask(method, more)
  local p = vim.lsp.util.make_position_params(0, "utf-16")
  for key, value in pairs(more or {}) do p[key] = value end
  local answers, err = vim.lsp.buf_request_sync(0, method, p, wait)
  assert(answers, err)
  local _, answer = next(answers)
  return answer and (answer.result or answer.error)
end

-- type_and_complete writes a line at the end of the buffer and returns what is offered behind it.
local function type_and_complete(...)
  local count = vim.api.nvim_buf_line_count(0)
  vim.api.nvim_buf_set_lines(0, count, -1, false, { ... })
  local last = vim.api.nvim_buf_line_count(0)
  local text = vim.api.nvim_buf_get_lines(0, last - 1, last, false)[1]
  local p = vim.lsp.util.make_position_params(0, "utf-16")
  p.position = { line = last - 1, character = vim.str_utfindex(text, #text) }
  local _, utf16 = vim.str_utfindex(text, #text)
  p.position.character = utf16
  local answers = assert(vim.lsp.buf_request_sync(0, "textDocument/completion", p, wait))
  local _, answer = next(answers)
  local labels = {}
  for _, item in ipairs(answer.result.items) do table.insert(labels, item.label) end
  vim.api.nvim_buf_set_lines(0, count, -1, false, {})
  return labels
end

local function text() return table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), "\n") .. "\n" end

local function steps()
  -- Problems as one types.
  local rules = open("rules/away.yaml")
  result.clean = problems(rules, 0)
  at("send_message")
  vim.cmd("normal! ix") -- send_messagxe
  result.typed = problems(rules, 1)
  vim.cmd("normal! x")
  result.mended = problems(rules, 0)

  -- Behind an emoji and letters of several bytes, and in lines that are put in between.
  vim.api.nvim_buf_set_lines(rules, 6, 7, false, { '    description: "🙂 ã"', [[    if: '"🙂ã" == mesage.text']] })
  result.encoded = problems(rules, 1)
  vim.cmd("edit!")
  vim.lsp.buf_attach_client(0, client)
  result.clean_again = problems(rules, 0)

  -- Completion.
  local rule = "  - id: x"
  result.complete = {
    keys = type_and_complete(rule, "    wh"),
    verbs = type_and_complete(rule, "    do:", "      - se"),
    arguments = type_and_complete(rule, "    do:", "      - transfer: { "),
    facts = type_and_complete(rule, "    if: conversation.sec"),
    template = type_and_complete(rule, "    do:", '      - send_message: "🙂 Olá {{ contact.na'),
    vars = type_and_complete(rule, "    if: vars."),
    calendars = type_and_complete(rule, '    if: closed("'),
    labels = type_and_complete(rule, "    do:", "      - add_labels: ["),
    people = type_and_complete(rule, "    do:", "      - send_message: { to: { person: "),
  }
  open("rules/away_test.yaml")
  result.complete.tests = type_and_complete("  - name: x", "    rules: [")
  result.complete.steps = type_and_complete("  - name: x", "    steps:", "      - { cust")

  -- Documentation.
  vim.cmd("edit! rules/away.yaml")
  local function hover(word)
    at(word)
    local h = ask("textDocument/hover")
    return h and h ~= vim.NIL and h.contents and h.contents.value
  end
  result.hover = {
    key = hover("limit"), verb = hover("send_message"), fact = hover("contact.name"), method = hover("closed"),
    event = hover("message.received"), var = hover("vars.greeting"),
  }

  -- Definitions.
  local function definition(word)
    at(word)
    local list = ask("textDocument/definition")
    local first = list and list[1]
    return first and { file = vim.fn.fnamemodify(vim.uri_to_fname(first.uri), ":t"), line = first.range.start.line, from = first.range.start.character }
  end
  result.definition = { calendar = definition('closed("offi'), var = definition("vars.greet"), step = definition("{{ answ") }
  open("rules/away_test.yaml")
  result.definition.rule = definition("rules: [away")

  -- Rename: the id of a rule in two files, a constant.
  at("rules: [away")
  vim.lsp.buf.rename("away-reply")
  vim.wait(wait, function() return text():find("away-reply", 1, true) ~= nil end, 10)
  result.renamed_test = text()
  vim.cmd("edit! rules/away.yaml")
  vim.wait(wait, function() return text():find("id: away-reply", 1, true) ~= nil end, 10)
  vim.cmd("buffer away.yaml")
  at("vars.greet")
  vim.lsp.buf.rename("hello")
  vim.wait(wait, function() return text():find("vars.hello", 1, true) ~= nil end, 10)
  result.renamed = text()
  at("vars.hel")
  result.refused = ask("textDocument/rename", { newName = "no name" })

  -- Format.
  vim.api.nvim_buf_set_lines(0, -1, -1, false, { "", "", "  - {id: b,   when: manual, do: [{log: x}]}" })
  if vim.lsp.buf.format then vim.lsp.buf.format({ timeout_ms = wait }) else vim.lsp.buf.formatting_sync(nil, wait) end
  result.formatted = text()

  -- Lenses, and what they do.
  local function lenses()
    local answers = vim.lsp.buf_request_sync(0, "textDocument/codeLens", { textDocument = vim.lsp.util.make_text_document_params() }, wait)
    local _, answer = next(answers)
    return answer.result
  end
  local function run(lens)
    messages, logs = {}, {}
    local answers = vim.lsp.buf_request_sync(0, "workspace/executeCommand", { command = lens.command.command, arguments = lens.command.arguments }, wait)
    vim.wait(wait, function() return #messages > 0 end, 10)
    local _, answer = next(answers)
    return { title = lens.command.title, message = messages[1], log = logs[#logs], failed = answer.error and answer.error.message }
  end
  vim.cmd("buffer away.yaml")
  result.backtest = run(lenses()[1])
  vim.cmd("buffer away_test.yaml")
  local tests = vim.api.nvim_get_current_buf()
  local found = lenses()
  result.passed = run(found[1])
  result.failed = run(found[2])
  result.failure = problems(tests, 1)
  vim.api.nvim_buf_set_lines(tests, -1, -1, false, { "# a word" })
  result.failure_gone = problems(tests, 0)
end

local ok, err = pcall(steps)
if not ok then result.error = tostring(err) end
result.logs = logs
vim.lsp.stop_client(client)
vim.wait(wait, function() return exit_code ~= nil end, 10)
result.exit = exit_code
write()
vim.cmd("qall!")
