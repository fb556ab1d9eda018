// Loads the extension (argument 1) as JupyterLab would, with a shared scope of stand-ins, and prints
// the tokens of a cell's text (standard input) that is visible in the ranges of argument 2.
const fs = require("node:fs");
const text = fs.readFileSync(0, "utf8");
const ranges = JSON.parse(process.argv[3]);

const lineAt = (place) => {
  const from = text.lastIndexOf("\n", place - 1) + 1;
  const end = text.indexOf("\n", place);
  const to = end < 0 ? text.length : end;
  return { from, to, text: text.slice(from, to) };
};
const read = [];
const doc = {
  line: () => lineAt(0),
  lineAt,
  sliceString: (from, to) => (read.push([from, to]), text.slice(from, to)),
};

class RangeSetBuilder {
  ranges = [];
  add(from, to, mark) {
    if (from >= to || from < (this.ranges.at(-1)?.to ?? 0)) {
      throw new Error(`range ${from} to ${to} is empty or out of order`);
    }
    this.ranges.push({ from, to, mark });
  }
  finish() {
    return this.ranges;
  }
}
const token = { name: "the token of the registry" };
const copy = (module, loaded) => ({ loaded, get: async () => () => module });
const wrong = copy({}, undefined);
const scope = {
  "@jupyterlab/codemirror": {
    "4.3.0": copy({
      IEditorExtensionRegistry: token,
      EditorExtensionRegistry: { createImmutableExtension: (extension) => extension },
    }),
  },
  // The newest is 6.10.0, not 6.9.6; and a copy that runs is taken before a newer one.
  "@codemirror/view": {
    "6.9.6": wrong,
    "6.10.0": copy({
      Decoration: { mark: (spec) => spec.class },
      EditorView: { baseTheme: (rules) => rules },
      ViewPlugin: { fromClass: (made, spec) => ({ made, spec }) },
    }),
  },
  "@codemirror/state": { "6.2.0": copy({ Prec: { highest: (plugin) => plugin }, RangeSetBuilder }, 1), "6.5.0": wrong },
};

(async () => {
  globalThis.window = {};
  require(fs.realpathSync(process.argv[2]));
  const container = window._JUPYTERLAB["@lhkit/mlir"];
  container.init(scope);
  const plugin = (await container.get("./extension"))().default;
  const registered = [];
  plugin.activate({}, { addExtension: (extension) => registered.push(extension) });
  const [highlighter, theme] = registered[0].factory();
  const view = { state: { doc }, visibleRanges: ranges.map(([from, to]) => ({ from, to })) };
  const made = new highlighter.made(view);
  const tokens = highlighter.spec
    .decorations(made)
    .map(({ from, to, mark }) => [mark.replace("lhkit-mlir-", ""), text.slice(from, to)]);
  const requiresToken = plugin.requires.length === 1 && plugin.requires[0] === token;
  console.log(JSON.stringify({ id: plugin.id, autoStart: plugin.autoStart, requiresToken, tokens, theme, read }));
})();
