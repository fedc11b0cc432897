// Makes ../assets/editor.min.js and the text of the licences of what is in it. The first line of the file names what it was made from, so that a test can tell
// whether it is still so.
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { build } from "esbuild";

const sources = ["editor.js", "replace.js", "text.js", "build.js", "package.json", "package-lock.json"];
const hash = createHash("sha256");
for (const name of sources) hash.update(readFileSync(name));

const result = await build({
  entryPoints: ["editor.js"], bundle: true, minify: true, format: "iife", target: "es2022", legalComments: "none", charset: "utf8", metafile: true, write: false,
});
writeFileSync("../assets/editor.min.js", `// Made by make generate from engine/console/editor ${hash.digest("hex")}\n` + result.outputFiles[0].text);

const packages = new Set();
for (const input of Object.keys(result.metafile.inputs)) {
  const found = /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(input);
  if (found) packages.add(found[1]);
}
let licences = "editor.min.js holds these packages, each under the MIT licence that follows it.\n";
for (const name of [...packages].sort()) {
  const { version } = JSON.parse(readFileSync(`node_modules/${name}/package.json`));
  licences += `\n==== ${name} ${version}\n\n${readFileSync(`node_modules/${name}/LICENSE`, "utf8").trim()}\n`;
}
writeFileSync("../assets/LICENSE.editor.txt", licences);
