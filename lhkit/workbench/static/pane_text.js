// The schedule as text, to be typed in; its own changes go to Python when the typing pauses, the newest wins.

const TYPED_MS = 200; // a pause in which what was typed is sent
const SETTLED_MS = 1200; // a pause behind which more is another change
const TEXT_LABEL = "schedule as text; Escape, then Tab leaves the editor";

class TextPane extends BenchPane {
  static key = "text";
  static title = "Text";
  static area = "left";
  static shows = ["text"];

  constructor(bench) {
    super(bench);
    this.body.removeAttribute("tabindex"); // the editor in it scrolls
    this.gestures = 0;
    this.name = make("input", { type: "text", class: "lhw-file-name", "aria-label": "file to save to", placeholder: "schedule.mlir", spellcheck: "false" });
    this.name.addEventListener("keydown", (event) => event.key === "Enter" && this.save());
    this.file = make("span", { class: "lhw-file", role: "status" });
    this.saver = make("button", { type: "button", title: "save (Ctrl-S)", onclick: () => this.save() }, "save");
    this.hint = make("span", { class: "lh-note lhw-hint" }, "Esc Tab leaves the editor");
    this.node.prepend(make("div", { class: "lhw-bar", role: "toolbar", "aria-label": "file" }, this.file, this.name, this.saver, this.hint));
  }

  get part() {
    return this.bench.part("text");
  }

  async update() {
    if (!this.part) return;
    try {
      this.cm ??= await editorLibrary(this.bench);
    } catch (error) {
      return this.bench.say(`the editor cannot be loaded here: ${error.message}`);
    }
    if (!this.view) this.begin();
    this.take();
  }

  begin() {
    const { cm } = this;
    this.mark = lineMark(cm);
    this.remote = cm.Annotation.define();
    const acts = {
      typed: () => this.typed(),
      moved: (line) => this.moved(line),
      left: () => this.settle(),
      save: () => this.save(),
    };
    const extensions = editorExtensions(cm, this.bench, { mark: this.mark, remote: this.remote, acts, label: TEXT_LABEL });
    const state = cm.EditorState.create({ doc: this.part.text, extensions });
    this.view = new cm.EditorView({ state, parent: this.frame, root: this.bench.el.getRootNode() });
  }

  // The text of the editor, as sent or to be sent.
  get text() {
    return this.view.state.doc.toString();
  }

  // Take what Python says of the text. What was typed here comes back as an echo, maybe behind newer words.
  take() {
    const { part } = this;
    if (part.text !== this.text && part.by !== this.bench.id) this.replace(part.text);
    if (part.text === this.text) this.view.dispatch(this.cm.setDiagnostics(this.view.state, this.marks(part.marks)));
    this.file.textContent = part.file ? `${part.file}${part.unsaved ? " ● not saved" : " ✓ saved"}` : "no file yet";
    this.name.hidden = Boolean(part.file);
    this.saver.disabled = Boolean(part.file) && !part.unsaved;
    this.showStep();
  }

  // Put another text in place, changing only what differs: the cursor and the scrolling stay.
  replace(text) {
    clearTimeout(this.timer);
    this.timer = null;
    const old = this.text;
    let from = 0;
    while (from < Math.min(old.length, text.length) && old[from] === text[from]) from++;
    let end = 0;
    while (end < Math.min(old.length, text.length) - from && old[old.length - 1 - end] === text[text.length - 1 - end]) end++;
    this.view.dispatch({
      changes: { from, to: old.length - end, insert: text.slice(from, text.length - end) },
      annotations: [this.remote.of(true), this.cm.isolateHistory.of("full")],
    });
  }

  marks(marks) {
    const { doc } = this.view.state;
    return marks.map(({ line, start, end, severity, message, source }) => {
      const at = doc.line(Math.min(line, doc.lines));
      const from = Math.min(at.from + start, at.to);
      return { from, to: Math.max(from, Math.min(at.from + end, at.to)), severity, message, source };
    });
  }

  // What was typed.

  typed() {
    clearTimeout(this.timer);
    clearTimeout(this.pause);
    this.timer = setTimeout(() => this.send(), TYPED_MS);
    this.pause = setTimeout(() => this.settle(), SETTLED_MS);
  }

  send() {
    clearTimeout(this.timer);
    this.timer = null;
    const gesture = `${this.bench.id}-text-${this.gestures}`;
    this.isTyping = true;
    this.bench.latest({ do: "set_text", text: this.text, gesture, by: this.bench.id });
  }

  settle() {
    clearTimeout(this.pause);
    if (this.timer) this.send();
    if (!this.isTyping) return;
    this.isTyping = false;
    this.gestures += 1;
    this.bench.do({ do: "settle_text" });
  }

  save() {
    if (this.view) this.settle();
    this.bench.do({ do: "save_text", path: this.name.hidden ? "" : this.name.value });
    return true;
  }

  // The step and its lines.

  get lines() {
    return this.view && this.part?.text === this.text ? this.part.lines : [];
  }

  moved(number) {
    const inside = this.lines.filter(([first, last]) => first <= number && number <= last);
    const found = inside.at(-1); // the innermost comes last
    if (!found) return;
    const now = this.lineNow();
    if (!now || now[0] !== found[0]) this.bench.goTo(found[2]);
  }

  // The lines of the step that is shown; for a step that ran several times those of its place in the text.
  lineNow() {
    const { lines } = this;
    return lines.find(([, , step]) => step === this.bench.step) ?? null;
  }

  async showStep() {
    if (!this.view) return;
    const now = this.lineNow();
    const effects = [this.mark.effect.of(now)];
    const isElsewhere = !this.view.hasFocus;
    if (now && isElsewhere) effects.push(this.cm.EditorView.scrollIntoView(this.view.state.doc.line(now[0]).from, { y: "nearest", yMargin: 24 }));
    this.view.dispatch({ effects });
  }
}

PANES.push(TextPane);
