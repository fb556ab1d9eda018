// The editor of the text pane: CodeMirror, which is sent when a text is looked at for the first time, with the colours
// of MLIR. What is offered, explained and marked comes from Python.

let editorModule = null;

// CodeMirror as a module; it comes from the kernel, and no address is asked for it.
function editorLibrary(bench) {
  editorModule ??= loadEditor(bench).catch((error) => {
    editorModule = null;
    throw error;
  });
  return editorModule;
}

async function loadEditor(bench) {
  const code = await unpacked(await bench.ask({ ask: "editor" }));
  const url = URL.createObjectURL(new Blob([code], { type: "text/javascript" }));
  try {
    return await import(url);
  } finally {
    URL.revokeObjectURL(url);
  }
}

// The kinds of MLIR's words, first match wins; the same as those of lhkit/render/mlir_html.py.
const MLIR_WORDS = [
  ["comment", /\/\/.*/y],
  ["string", /"(?:[^"\\]|\\.)*"?/y],
  ["variableName", /%[\w$.-]+(?:[#:][0-9]+)?/y],
  ["labelName", /@(?:"(?:[^"\\]|\\.)*"|[\w$.-]+)/y],
  ["typeName", /![\w$.]+|(?:tensor|vector|memref|tuple|complex)(?=<)|(?:index|none|[us]?i[0-9]+|bf16|tf32|f(?:16|32|64|80|128))\b/y],
  ["attributeName", /#(?!-\})[\w$.]+/y],
  ["labelName", /\^\w+/y],
  ["number", /-?[0-9]+(?:\.[0-9]*(?:[eE][+-]?[0-9]+)?)?(?![\w.])|0x[0-9A-Fa-f]+/y],
  ["function", /[a-z_]\w*(?:\.[a-z_]\w*)+/y],
  ["name", /\w+/y],
  ["punctuation", /->|[^\s]/y],
];

function mlirToken(stream) {
  if (stream.eatSpace()) return null;
  for (const [kind, pattern] of MLIR_WORDS) {
    pattern.lastIndex = stream.pos;
    const found = pattern.exec(stream.string);
    if (!found) continue;
    stream.pos += found[0].length;
    return kind === "punctuation" || kind === "name" ? null : kind;
  }
  stream.next();
  return null;
}

function mlirLanguage(cm) {
  const { tags } = cm;
  const language = cm.StreamLanguage.define({
    name: "mlir",
    token: mlirToken,
    languageData: { commentTokens: { line: "//" }, closeBrackets: { brackets: ["(", "[", "{", '"'] }, wordChars: "%@!#.$-" },
    tokenTable: { function: tags.keyword },
  });
  const colours = cm.HighlightStyle.define([
    { tag: tags.comment, color: "var(--lh-faint)", fontStyle: "italic" },
    { tag: tags.string, color: "var(--lh-made)" },
    { tag: tags.variableName, color: "var(--lh-read)" },
    { tag: tags.labelName, color: "var(--lh-moved)" },
    { tag: tags.typeName, color: "var(--lh-faint)" },
    { tag: tags.attributeName, color: "var(--lh-made)" },
    { tag: tags.keyword, fontWeight: "600" },
  ]);
  return [language, cm.syntaxHighlighting(colours)];
}

// The word at a position: an op's name, a handle, a string.
function wordAt(state, pos) {
  const line = state.doc.lineAt(pos);
  for (const found of line.text.matchAll(/"[^"]*"|[%@!#]?[\w$.-]+(?:#\d+)?/g)) {
    const from = line.from + found.index;
    if (from <= pos && pos <= from + found[0].length) return { from, to: from + found[0].length, text: found[0] };
  }
  return null;
}

const COMPLETION_TYPES = { op: "function", handle: "variable", symbol: "constant", type: "type", argument: "property", "payload op": "class" };

function completer(bench) {
  return async (context) => {
    const before = context.state.sliceDoc(0, context.pos);
    if (!context.explicit && !/[%@!"\w.]$/.test(before)) return null;
    const { length, options } = await bench.ask({ ask: "complete", before });
    if (context.aborted || !options.length) return null;
    const word = before.slice(before.length - length);
    const longer = options.filter(({ label }) => label !== word && label.startsWith(word));
    const isWritten = !longer.length && options.some(({ label }) => label === word);
    if (isWritten && !context.explicit) return null; // there is nothing to complete
    return {
      from: context.pos - length,
      validFor: /^[%@!]?[\w$.]*$/,
      options: options.map(({ label, kind, detail, info, apply }) => ({
        label,
        detail,
        type: COMPLETION_TYPES[kind],
        info: info || undefined,
        apply: apply || undefined,
      })),
    };
  };
}

function hoverHelp(cm, bench) {
  return cm.hoverTooltip(async (view, pos) => {
    const word = wordAt(view.state, pos);
    if (!word) return null;
    const html = await bench.ask({ ask: "explain", word: word.text }).catch(() => "");
    if (!html) return null;
    return {
      pos: word.from,
      end: word.to,
      above: true,
      create() {
        const dom = make("div", { class: "lhw-hover" });
        dom.append(fragmentOf(html));
        return { dom };
      },
    };
  });
}

// A line that is marked as that of the step that is shown.
function lineMark(cm) {
  const effect = cm.StateEffect.define();
  const field = cm.StateField.define({
    create: () => cm.Decoration.none,
    update(marks, transaction) {
      let made = marks.map(transaction.changes);
      for (const each of transaction.effects) {
        if (!each.is(effect)) continue;
        const { doc } = transaction.state;
        const [first, last] = each.value ?? [0, -1];
        const lines = [];
        for (let n = first; n && n <= Math.min(last, doc.lines); n++) {
          lines.push(cm.Decoration.line({ class: "lhw-step-line" }).range(doc.line(n).from));
        }
        made = cm.Decoration.set(lines);
      }
      return made;
    },
    provide: (self) => cm.EditorView.decorations.from(self),
  });
  return { effect, field };
}

function editorTheme(cm) {
  return cm.EditorView.theme({
    // The box of the tooltips, which stands beside the panes, has the classes of "&" too: it takes no room there.
    "&.cm-editor": { height: "100%", backgroundColor: "var(--lh-paper)", color: "var(--lh-ink)", fontSize: "inherit" },
    "&.cm-focused": { outline: "2px solid var(--lh-selected)", outlineOffset: "-2px" },
    ".cm-scroller": { fontFamily: "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace", lineHeight: "1.5" },
    ".cm-content": { caretColor: "var(--lh-ink)" },
    ".cm-cursor, .cm-dropCursor": { borderLeftColor: "var(--lh-ink)", borderLeftWidth: "2px" },
    ".cm-gutters": { backgroundColor: "var(--lh-panel)", color: "var(--lh-faint)", borderRight: "1px solid var(--lh-line)" },
    ".cm-activeLine": { backgroundColor: "color-mix(in srgb, var(--lh-panel) 70%, transparent)" },
    ".cm-activeLineGutter": { backgroundColor: "var(--lh-selected-paper)", color: "var(--lh-ink)" },
    "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": {
      backgroundColor: "color-mix(in srgb, var(--lh-live) 28%, transparent) !important",
    },
    ".cm-selectionMatch": { backgroundColor: "color-mix(in srgb, var(--lh-changed) 25%, transparent)" },
    "&.cm-focused .cm-matchingBracket": { backgroundColor: "var(--lh-created-paper)", outline: "1px solid var(--lh-created)" },
    "&.cm-focused .cm-nonmatchingBracket": { backgroundColor: "var(--lh-erased-paper)" },
    ".cm-tooltip": { backgroundColor: "var(--lh-paper)", color: "var(--lh-ink)", border: "1px solid var(--lh-line)", borderRadius: "5px", boxShadow: "0 3px 14px rgb(0 0 0 / .22)" },
    ".cm-tooltip.cm-tooltip-autocomplete > ul": { fontFamily: "inherit", maxHeight: "16em", maxWidth: "34em" },
    ".cm-tooltip-autocomplete ul li[aria-selected]": { backgroundColor: "var(--lh-selected-paper) !important", color: "var(--lh-ink) !important" },
    ".cm-completionDetail": { color: "var(--lh-faint)", fontStyle: "normal", fontSize: ".88em" },
    ".cm-completionMatchedText": { textDecoration: "none", fontWeight: "700" },
    ".cm-completionInfo": { maxWidth: "24em", padding: ".4em .7em" },
    ".cm-diagnostic": { padding: ".3em .7em", whiteSpace: "pre-wrap", maxWidth: "40em" },
    ".cm-diagnostic-error": { borderLeft: "4px solid var(--lh-dead)" },
    ".cm-diagnostic-warning": { borderLeft: "4px solid var(--lh-changed)" },
    ".cm-diagnostic-info": { borderLeft: "4px solid var(--lh-faint)" },
    ".cm-lintRange-error": { backgroundImage: "none", textDecoration: "underline wavy var(--lh-dead) 1.5px", textUnderlineOffset: "3px" },
    ".cm-lintRange-warning": { backgroundImage: "none", textDecoration: "underline wavy var(--lh-changed) 1.5px", textUnderlineOffset: "3px" },
    ".cm-lintRange-info": { backgroundImage: "none", textDecoration: "underline dotted var(--lh-faint) 1.5px", textUnderlineOffset: "3px" },
    ".cm-panels": { backgroundColor: "var(--lh-panel)", color: "var(--lh-ink)", borderColor: "var(--lh-line)" },
  });
}

// Where tooltips stand: over the panes, so that none of them moves.
function tooltipBox(bench) {
  const box = make("div", { class: "lhw-tips" });
  bench.el.append(box);
  return box;
}

// What the editor is made of; `acts` are typed(), moved(line), left(), save().
function editorExtensions(cm, bench, { mark, acts, label, remote }) {
  const typed = (update) => update.docChanged && !update.transactions.some((each) => each.annotation(remote));
  const moved = (update) => !update.docChanged && update.selectionSet && update.transactions.some((each) => each.isUserEvent("select"));
  return [
    cm.lineNumbers(),
    cm.lintGutter(),
    cm.highlightActiveLineGutter(),
    cm.highlightActiveLine(),
    cm.highlightSpecialChars(),
    cm.history(),
    cm.drawSelection(),
    cm.bracketMatching(),
    cm.closeBrackets(),
    cm.highlightSelectionMatches(),
    cm.search({ top: true }),
    cm.indentUnit.of("  "),
    cm.autocompletion({ override: [completer(bench)], icons: false }),
    hoverHelp(cm, bench),
    // In the workbench rather than in its narrow pane, which would cut them off.
    cm.tooltips({ parent: tooltipBox(bench), tooltipSpace: () => bench.el.getBoundingClientRect() }),
    mlirLanguage(cm),
    mark.field,
    editorTheme(cm),
    cm.EditorView.contentAttributes.of({ "aria-label": label, "data-lm-suppress-shortcuts": "true", spellcheck: "false" }),
    cm.EditorView.domEventHandlers({ blur: () => acts.left() }),
    cm.EditorView.updateListener.of((update) => {
      if (typed(update)) acts.typed();
      else if (moved(update)) acts.moved(update.state.doc.lineAt(update.state.selection.main.head).number);
    }),
    cm.keymap.of([
      { key: "Mod-s", run: () => acts.save(), preventDefault: true, stopPropagation: true },
      { key: "Mod-/", run: cm.toggleComment },
      { key: "Tab", run: (view) => cm.acceptCompletion(view) || cm.indentMore(view), shift: cm.indentLess },
      ...cm.closeBracketsKeymap,
      ...cm.completionKeymap,
      ...cm.lintKeymap,
      ...cm.searchKeymap,
      ...cm.historyKeymap,
      ...cm.defaultKeymap,
    ]),
  ];
}
