// Highlights cells that begin with %%payload or %%schedule as MLIR.
//
// JupyterLab loads a federated extension as a container with init(scope) and get(module). A bundler
// usually writes that container; this one is written by hand, so what is shipped is what is read here.
// CodeMirror comes from the shared scope: an editor takes extensions of its own copy of CodeMirror only.
"use strict";
(() => {
  const NAME = "@lhkit/mlir";
  const MAGIC = /^%%(?:payload|schedule)(?![\w.])/;
  // How far back from a visible range a line is read; beyond that (constants of megabytes) the range is cut.
  const REACH = 2000;

  // The first alternative that fits at a place wins; "plain" takes what no other does, so that nothing
  // of the colours that the cell has as Python is left.
  const TOKEN = new RegExp(
    [
      String.raw`(?<comment>//[^\n]*)`,
      String.raw`(?<string>"(?:[^"\\\n]|\\.)*"?)`,
      String.raw`(?<value>%[\w$.-]+(?:#\d+)?)`,
      String.raw`(?<symbol>@(?:[\w$.-]+|"(?:[^"\\\n]|\\.)*"?))`,
      String.raw`(?<block>\^[\w$.-]+)`,
      String.raw`(?<alias>#[A-Za-z_][\w$.]*)`,
      String.raw`(?<type>![A-Za-z_][\w$.]*)`,
      String.raw`(?<op>[A-Za-z_][\w$]*(?:\.[\w$]+)+|(?:module|func|call|return)\b)`,
      String.raw`(?<number>0x[\da-fA-F]+\b|(?:(?:\d+|[?*]|\[\d+\])x)+|-?\d+(?:\.\d*(?:[eE][+-]?\d+)?)?)`,
      String.raw`(?<builtin>(?:tensor|memref|vector|tuple|complex|index|none|[su]?i\d+|bf16|tf32|f\d+\w*)\b)`,
      String.raw`(?<atom>(?:true|false|unit)\b)`,
      String.raw`(?<keyword>(?:attributes|private|public|nested|ins|outs|in|to|from|into|at|step` +
        String.raw`|iter_args|shared_outs|else|do|dense|sparse|array|strided|affine_map|affine_set|loc)\b)`,
      String.raw`(?<property>[A-Za-z_][\w$]*(?=\s*=(?!=)))`,
      String.raw`(?<operator>->|::|[=:])`,
      String.raw`(?<plain>[\w$]+|[^\s\w])`,
    ].join("|"),
    "g",
  );
  const FIRST_LINE = /(?<magic>^%%\w+)|(?<property>--[\w-]+)|(?<plain>[^\s]+)/g;

  // What a kind of token has of the theme's colours, --jp-mirror-editor-…-color, light or dark.
  const COLORS = {
    magic: "meta", comment: "comment", string: "string", value: "variable-2", symbol: "def", block: "tag",
    alias: "meta", type: "variable-3", builtin: "variable-3", op: "keyword", number: "number", atom: "atom",
    keyword: "operator", property: "property", operator: "operator", plain: "variable",
  };
  const SLANTED = ["comment"];
  const BOLD = ["op"];

  function theme() {
    const rules = {};
    for (const [kind, color] of Object.entries(COLORS)) {
      rules[`.lhkit-mlir-${kind}`] = {
        color: `var(--jp-mirror-editor-${color}-color)`,
        fontStyle: SLANTED.includes(kind) ? "italic" : "normal",
        fontWeight: BOLD.includes(kind) ? "bold" : "normal",
      };
    }
    return rules;
  }

  function* tokens(pattern, text, start) {
    for (const match of text.matchAll(pattern)) {
      const kind = Object.keys(match.groups).find((name) => match.groups[name] !== undefined);
      yield { kind, from: start + match.index, to: start + match.index + match[0].length };
    }
  }

  function* visibleTokens(view) {
    const doc = view.state.doc;
    const first = doc.line(1);
    if (!MAGIC.test(first.text)) {
      return;
    }
    let done = 0;
    for (const { from, to } of view.visibleRanges) {
      if (done < first.to) {
        yield* tokens(FIRST_LINE, first.text, 0);
        done = first.to;
      }
      const line = doc.lineAt(from);
      const start = Math.max(done, from - line.from > REACH ? from : line.from);
      if (start < to) {
        yield* tokens(TOKEN, doc.sliceString(start, to), start);
        done = to;
      }
    }
  }

  function highlighting({ Decoration, EditorView, ViewPlugin }, { Prec, RangeSetBuilder }) {
    const marks = {};
    for (const kind of Object.keys(COLORS)) {
      marks[kind] = Decoration.mark({ class: `lhkit-mlir-${kind}` });
    }
    function decorate(view) {
      const builder = new RangeSetBuilder();
      for (const { kind, from, to } of visibleTokens(view)) {
        builder.add(from, to, marks[kind]);
      }
      return builder.finish();
    }
    class Highlighter {
      constructor(view) {
        this.decorations = decorate(view);
      }
      update(update) {
        if (update.docChanged || update.viewportChanged) {
          this.decorations = decorate(update.view);
        }
      }
    }
    // The highest precedence is the innermost element: its colour is over that of the cell as Python.
    const plugin = ViewPlugin.fromClass(Highlighter, { decorations: (highlighter) => highlighter.decorations });
    return [Prec.highest(plugin), EditorView.baseTheme(theme())];
  }

  // The copy that the application itself takes: one that runs already, or else the newest.
  async function shared(scope, name) {
    const copies = Object.entries(scope[name] ?? {});
    if (copies.length === 0) {
      throw new Error(`${NAME}: this application does not share ${name}; cells of MLIR stay as they are`);
    }
    copies.sort(([a, x], [b, y]) => !!y.loaded - !!x.loaded || b.localeCompare(a, "en", { numeric: true }));
    return (await copies[0][1].get())();
  }

  async function extension(scope) {
    const needed = ["@jupyterlab/codemirror", "@codemirror/view", "@codemirror/state"];
    const [jupyter, view, state] = await Promise.all(needed.map((name) => shared(scope, name)));
    const create = () => jupyter.EditorExtensionRegistry.createImmutableExtension(highlighting(view, state));
    return {
      id: `${NAME}:plugin`,
      description: "Highlights cells that begin with %%payload or %%schedule as MLIR.",
      autoStart: true,
      requires: [jupyter.IEditorExtensionRegistry],
      activate: (app, registry) => registry.addExtension({ name: NAME, factory: create }),
    };
  }

  let scope = null;
  window._JUPYTERLAB = window._JUPYTERLAB || {};
  window._JUPYTERLAB[NAME] = {
    init: (given) => void (scope = given),
    get: async (module) => {
      if (module !== "./extension") {
        throw new Error(`${NAME} has no module ${module}`);
      }
      const plugin = await extension(scope);
      return () => ({ __esModule: true, default: plugin });
    },
  };
})();
