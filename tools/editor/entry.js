// What the workbench's text pane (lhkit/workbench/static/pane_text.js) takes of CodeMirror; nothing else is bundled.

export { Annotation, Compartment, EditorState, StateEffect, StateField } from "@codemirror/state";
export {
  Decoration,
  EditorView,
  drawSelection,
  highlightActiveLine,
  highlightActiveLineGutter,
  highlightSpecialChars,
  hoverTooltip,
  keymap,
  lineNumbers,
  tooltips,
} from "@codemirror/view";
export { HighlightStyle, StreamLanguage, bracketMatching, indentUnit, syntaxHighlighting } from "@codemirror/language";
export { defaultKeymap, history, historyKeymap, indentLess, indentMore, isolateHistory, toggleComment } from "@codemirror/commands";
export { lintGutter, lintKeymap, setDiagnostics } from "@codemirror/lint";
export { acceptCompletion, autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap } from "@codemirror/autocomplete";
export { highlightSelectionMatches, search, searchKeymap } from "@codemirror/search";
export { tags } from "@lezer/highlight";
