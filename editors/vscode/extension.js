// Starts `quando lsp` and shows in VS Code what it says. It speaks the protocol itself, so that the
// extension needs no other package and no build.
"use strict";

const { spawn } = require("node:child_process");
const vscode = require("vscode");

/** A Connection carries JSON-RPC messages over the standard input and output of a process. */
class Connection {
  constructor(child, onNotification, onEnd) {
    this.child = child;
    this.onNotification = onNotification;
    this.next = 1;
    this.waiting = new Map();
    this.buffer = Buffer.alloc(0);
    child.stdout.on("data", (data) => this.receive(data));
    child.stdin.on("error", () => {}); // the end is told below
    child.on("error", (err) => this.end(onEnd, err));
    child.on("exit", (code) => this.end(onEnd, new Error(`quando lsp ended with ${code}`)));
  }

  end(onEnd, err) {
    for (const { reject } of this.waiting.values()) reject(err);
    this.waiting.clear();
    onEnd(err);
  }

  receive(data) {
    this.buffer = Buffer.concat([this.buffer, data]);
    for (;;) {
      const head = this.buffer.indexOf("\r\n\r\n");
      if (head < 0) return;
      const length = Number(/Content-Length: *(\d+)/i.exec(this.buffer.toString("latin1", 0, head))[1]);
      if (this.buffer.length < head + 4 + length) return;
      const body = this.buffer.toString("utf8", head + 4, head + 4 + length);
      this.buffer = this.buffer.subarray(head + 4 + length);
      this.take(JSON.parse(body));
    }
  }

  take(message) {
    if (message.method !== undefined) {
      if (message.id !== undefined) this.send({ id: message.id, result: null });
      else this.onNotification(message.method, message.params);
      return;
    }
    const asked = this.waiting.get(message.id);
    this.waiting.delete(message.id);
    if (!asked) return;
    if (message.error) asked.reject(new Error(message.error.message));
    else asked.resolve(message.result);
  }

  send(message) {
    const body = Buffer.from(JSON.stringify({ jsonrpc: "2.0", ...message }), "utf8");
    this.child.stdin.write(`Content-Length: ${body.length}\r\n\r\n`);
    this.child.stdin.write(body);
  }

  notify(method, params) {
    this.send({ method, params });
  }

  ask(method, params, token) {
    const id = this.next++;
    return new Promise((resolve, reject) => {
      this.waiting.set(id, { resolve, reject });
      this.send({ id, method, params });
      token?.onCancellationRequested(() => this.notify("$/cancelRequest", { id }));
    });
  }
}

const toPosition = (p) => new vscode.Position(p.line, p.character);
const toRange = (r) => new vscode.Range(toPosition(r.start), toPosition(r.end));
const place = (document, position) => ({
  textDocument: { uri: document.uri.toString() },
  position: { line: position.line, character: position.character },
});
const whole = (document) => ({ textDocument: { uri: document.uri.toString() } });

function toEdit(edit) {
  const out = new vscode.WorkspaceEdit();
  for (const [uri, edits] of Object.entries(edit.changes)) {
    for (const e of edits) out.replace(vscode.Uri.parse(uri), toRange(e.range), e.newText);
  }
  return out;
}

function toItem(item) {
  const out = new vscode.CompletionItem(item.label, item.kind - 1);
  out.detail = item.detail;
  out.sortText = item.sortText;
  out.filterText = item.filterText;
  out.insertText = item.textEdit.newText;
  out.range = toRange(item.textEdit.range);
  if (item.documentation) out.documentation = new vscode.MarkdownString(item.documentation.value);
  return out;
}

/** A Client keeps one server up to date with the open rule files. */
class Client {
  constructor(output) {
    this.output = output;
    this.problems = vscode.languages.createDiagnosticCollection("quando");
    this.parts = [this.problems];
  }

  get selector() {
    const pattern = vscode.workspace.getConfiguration("quando").get("files");
    return [{ scheme: "file", language: "yaml", pattern }, { scheme: "file", pattern: "**/*_test.yaml" }];
  }

  wanted(document) {
    return vscode.languages.match(this.selector, document) > 0;
  }

  async start() {
    const settings = vscode.workspace.getConfiguration("quando");
    const folder = vscode.workspace.workspaceFolders?.[0]?.uri.fsPath;
    const child = spawn(settings.get("command"), settings.get("arguments"), { cwd: folder, stdio: ["pipe", "pipe", "pipe"] });
    child.stderr.on("data", (data) => this.output.append(data.toString()));
    this.connection = new Connection(child, (method, params) => this.told(method, params), (err) => this.ended(err));
    await this.connection.ask("initialize", {
      processId: process.pid,
      rootUri: folder ? vscode.Uri.file(folder).toString() : null,
      capabilities: { general: { positionEncodings: ["utf-16"] } },
    });
    this.connection.notify("initialized", {});
    this.follow();
    this.provide();
  }

  /** follow hands over texts: those that are open, and what is typed. */
  follow() {
    const c = this.connection;
    const open = (document) => {
      if (!this.wanted(document)) return;
      c.notify("textDocument/didOpen", {
        textDocument: { uri: document.uri.toString(), languageId: document.languageId, version: document.version, text: document.getText() },
      });
    };
    vscode.workspace.textDocuments.forEach(open);
    const files = vscode.workspace.createFileSystemWatcher("**/*.{yaml,yml,ics}");
    const changed = () => c.notify("workspace/didChangeWatchedFiles", { changes: [] });
    this.parts.push(
      vscode.workspace.onDidOpenTextDocument(open),
      vscode.workspace.onDidChangeTextDocument((e) => {
        if (!this.wanted(e.document) || e.contentChanges.length === 0) return;
        c.notify("textDocument/didChange", {
          textDocument: { uri: e.document.uri.toString(), version: e.document.version },
          contentChanges: e.contentChanges.map((change) => ({ range: change.range, text: change.text })),
        });
      }),
      vscode.workspace.onDidSaveTextDocument((document) => this.wanted(document) && c.notify("textDocument/didSave", whole(document))),
      vscode.workspace.onDidCloseTextDocument((document) => this.wanted(document) && c.notify("textDocument/didClose", whole(document))),
      files, files.onDidCreate(changed), files.onDidChange(changed), files.onDidDelete(changed),
    );
  }

  /** provide answers what VS Code asks for. */
  provide() {
    const c = this.connection;
    const languages = vscode.languages;
    const at = this.selector;
    this.parts.push(
      languages.registerCompletionItemProvider(at, {
        provideCompletionItems: async (d, p, token) => (await c.ask("textDocument/completion", place(d, p), token)).items.map(toItem),
      }, ":", " ", ".", "\"", "'", "{", "[", "-", "("),
      languages.registerHoverProvider(at, {
        provideHover: async (d, p, token) => {
          const h = await c.ask("textDocument/hover", place(d, p), token);
          return h && new vscode.Hover(new vscode.MarkdownString(h.contents.value), toRange(h.range));
        },
      }),
      languages.registerDefinitionProvider(at, {
        provideDefinition: async (d, p, token) =>
          (await c.ask("textDocument/definition", place(d, p), token)).map((l) => new vscode.Location(vscode.Uri.parse(l.uri), toRange(l.range))),
      }),
      languages.registerReferenceProvider(at, {
        provideReferences: async (d, p, context, token) =>
          (await c.ask("textDocument/references", { ...place(d, p), context }, token)).map((l) => new vscode.Location(vscode.Uri.parse(l.uri), toRange(l.range))),
      }),
      languages.registerDocumentSymbolProvider(at, {
        provideDocumentSymbols: async (d, token) =>
          (await c.ask("textDocument/documentSymbol", whole(d), token)).map((s) => new vscode.DocumentSymbol(s.name, "", s.kind - 1, toRange(s.range), toRange(s.selectionRange))),
      }),
      languages.registerRenameProvider(at, {
        prepareRename: async (d, p, token) => {
          const r = await c.ask("textDocument/prepareRename", place(d, p), token);
          return { range: toRange(r.range), placeholder: r.placeholder };
        },
        provideRenameEdits: async (d, p, newName, token) => toEdit(await c.ask("textDocument/rename", { ...place(d, p), newName }, token)),
      }),
      languages.registerDocumentFormattingEditProvider(at, {
        provideDocumentFormattingEdits: async (d, options, token) =>
          (await c.ask("textDocument/formatting", { ...whole(d), options }, token)).map((e) => new vscode.TextEdit(toRange(e.range), e.newText)),
      }),
      languages.registerCodeLensProvider(at, {
        provideCodeLenses: async (d, token) =>
          (await c.ask("textDocument/codeLens", whole(d), token)).map((l) => new vscode.CodeLens(toRange(l.range), l.command)),
      }),
      ...["quando.runTest", "quando.backtest"].map((command) =>
        vscode.commands.registerCommand(command, (...args) => c.ask("workspace/executeCommand", { command, arguments: args }).catch(() => {})), // it was shown
      ),
    );
  }

  told(method, params) {
    switch (method) {
      case "textDocument/publishDiagnostics":
        this.problems.set(vscode.Uri.parse(params.uri), params.diagnostics.map((d) => {
          const out = new vscode.Diagnostic(toRange(d.range), d.message, d.severity - 1);
          out.source = d.source;
          return out;
        }));
        break;
      case "window/showMessage":
        [null, vscode.window.showErrorMessage, vscode.window.showWarningMessage, vscode.window.showInformationMessage][params.type]?.(params.message);
        break;
      case "window/logMessage":
        this.output.appendLine(params.message);
    }
  }

  ended(err) {
    if (this.stopping) return;
    this.output.appendLine(String(err));
    vscode.window.showErrorMessage(`Quando: ${err.message}. Is the program on PATH? The setting quando.command says where it is.`);
  }

  async stop() {
    this.stopping = true;
    for (const part of this.parts) part.dispose();
    if (!this.connection) return;
    await this.connection.ask("shutdown").catch(() => {});
    this.connection.notify("exit");
  }
}

let client;
let output;

async function start() {
  client = new Client(output);
  await client.start().catch(() => {}); // ended tells it
}

async function activate(context) {
  output = vscode.window.createOutputChannel("Quando");
  context.subscriptions.push(output, vscode.commands.registerCommand("quando.restart", async () => {
    await client?.stop();
    await start();
  }));
  await start();
}

const deactivate = () => client?.stop();

module.exports = { activate, deactivate };
