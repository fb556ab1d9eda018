// Bundles CodeMirror into one file that asks nobody for anything, with the licences of what is in it.

import { build } from "esbuild";
import { readFile, writeFile } from "node:fs/promises";

const OUT = "../../lhkit/workbench/static/editor.js";

const result = await build({
  entryPoints: ["entry.js"],
  bundle: true,
  format: "esm",
  minify: true,
  target: "es2022",
  legalComments: "none",
  charset: "ascii",
  metafile: true,
  write: false,
});

// Only packages of which something is in the bundle.
const inputs = Object.values(result.metafile.outputs)[0].inputs;
const packages = [...new Set(Object.keys(inputs).map((path) => path.match(/^node_modules\/((?:@[^/]+\/)?[^/]+)/)?.[1]))].filter(Boolean).sort();
const byLicence = new Map();
const versions = [];
for (const name of packages) {
  const folder = `node_modules/${name}`;
  const { version, license } = JSON.parse(await readFile(`${folder}/package.json`, "utf8"));
  if (license !== "MIT") throw new Error(`${name} has the licence ${license}`);
  versions.push(`${name} ${version}`);
  const text = (await readFile(`${folder}/LICENSE`, "utf8")).trim();
  byLicence.set(text, [...(byLicence.get(text) ?? []), name]);
}
const licences = [...byLicence].map(([text, names]) => `${names.join(", ")}:\n\n${text}`).join("\n\n---\n\n");
const head = `/*!\nMade by \`make editor\` from tools/editor; not to be edited. It holds:\n${versions.join("\n")}\n\n${licences}\n*/\n`;
await writeFile(OUT, head + result.outputFiles[0].text);
console.log(`${OUT}: ${Math.round((head.length + result.outputFiles[0].contents.length) / 1024)} KiB of ${packages.length} packages`);
