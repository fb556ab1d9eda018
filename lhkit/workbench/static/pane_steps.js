// The steps of the schedule: walked, moved, switched, changed; knobs are sliders among them.

class StepsPane extends BenchPane {
  static key = "steps";
  static title = "Steps";
  static area = "left";
  static shows = ["steps"];
  static items = ".lhw-main";

  constructor(bench) {
    super(bench);
    this.form = new StepForm(bench, this);
    this.adder = make("button", { type: "button", class: "lhw-add", onclick: () => this.form.search() }, "+ add a step …");
    this.node.append(make("div", { class: "lhw-foot" }, this.adder), this.form.node);
    this.body.addEventListener("click", (event) => {
      const edited = event.target.closest("[data-edit]");
      if (edited) this.form.edit(edited.dataset.edit);
    });
    this.gestures = 0;
    this.body.addEventListener("pointerdown", (event) => this.press(event.target));
    this.body.addEventListener("input", (event) => event.target.matches("[data-knob][data-values]") && this.turned(event.target));
    this.body.addEventListener("change", (event) => {
      if (event.target.matches("[data-knob]:not([data-values])")) this.typed(event.target);
      else if (event.target.matches("[data-knob]")) this.begin();
    });
    this.body.addEventListener("dragstart", (event) => this.dragStart(event));
    this.body.addEventListener("dragover", (event) => this.dragOver(event));
    this.body.addEventListener("drop", (event) => this.drop(event));
    this.body.addEventListener("dragend", () => this.dragEnd());
    new ResizeObserver(() => this.keepInSight()).observe(this.body);
  }

  // The row that is shown stays in sight when the panes around take room.
  keepInSight() {
    const { height } = this;
    this.height = this.body.clientHeight;
    if (!height || !this.rowNow?.isConnected) return;
    const [row, body] = [this.rowNow.getBoundingClientRect(), this.body.getBoundingClientRect()];
    const wasInSight = row.top >= body.top - 1 && row.bottom <= body.top + height + 1;
    if (wasInSight) this.body.scrollTop += Math.max(0, row.bottom - body.bottom); // and nothing around the pane scrolls
  }

  async update() {
    const turn = ++this.turn;
    const html = await unpacked(this.bench.part("steps").html);
    if (turn !== this.turn || html === this.html) return;
    this.html = html;
    const wanted = make("div", { class: "lhw-frame" });
    wanted.append(fragmentOf(html));
    morph(this.frame, wanted, (field) => field === this.moving);
    this.reindex();
    this.showStep();
  }

  showStep() {
    const now = this.frame.querySelector(".lhw-row.lh-now") ?? this.rowAround(this.bench.step);
    for (const row of this.frame.querySelectorAll(".lhw-around")) row.classList.remove("lhw-around");
    if (now && !now.classList.contains("lh-now")) now.classList.add("lhw-around");
    // It is higher when it is lit, and may come after the step; with the frame, as it lays out.
    const isElsewhere = this.bench.step !== this.scrolledTo || now !== this.rowNow;
    if (isElsewhere && now) requestAnimationFrame(() => now.scrollIntoView({ block: "nearest" }));
    this.rowNow = now;
    this.scrolledTo = this.bench.step;
    for (const main of this.mains()) main.removeAttribute("aria-current");
    const main = now?.querySelector(".lhw-main");
    main?.setAttribute("aria-current", "step");
    if (main && !this.frame.contains(document.activeElement)) this.roving.stop(main);
    if (main && document.activeElement?.matches(".lhw-main") && this.frame.contains(document.activeElement)) main.focus();
  }

  // The row of the step that a step ran in, if it is of a library: steps inside are numbered after the one around.
  rowAround(step) {
    let [found, last] = [null, -1];
    for (const row of this.frame.querySelectorAll('.lhw-row[data-kind="step"][data-step]')) {
      for (const each of row.dataset.step.split(" ").map(Number)) if (each <= step && each > last) [found, last] = [row, each];
    }
    return found;
  }

  mains() {
    return [...this.frame.querySelectorAll(".lhw-main")];
  }

  // The place of the step behind which a new one goes: the one that is shown, if it is in the text.
  get placeNow() {
    const row = this.frame.querySelector('.lhw-row.lh-now[data-kind="step"]');
    return row?.dataset.at;
  }

  // A row is dragged by anything but its controls: a slider's thumb has to follow the pointer itself.
  press(target) {
    const row = target.closest('.lhw-row[data-kind="step"]');
    if (row) row.draggable = !target.closest("label, .lhw-tools");
    if (target.matches("[data-knob]")) this.begin();
  }

  // One drag of a slider, or one run of its keys, is one change of the schedule.
  begin() {
    this.gestures += 1;
  }

  turned(input) {
    const value = knobValue(input);
    showKnob(input, value);
    this.moving = input; // until Python has caught up with the hand
    const isSeen = this.bench.seen.move(input.dataset.knob, value);
    const moved = this.bench.latest({ do: "set_knobs", knobs: { [input.dataset.knob]: value }, gesture: `${this.bench.id}-${this.gestures}` });
    const turns = (this.turns = (this.turns ?? 0) + 1);
    if (!isSeen) this.bench.ghost(true);
    moved.then(() => {
      if (turns !== this.turns) return;
      this.moving = null;
      this.bench.ghost(false);
      this.bench.seen.settle();
    });
  }

  // Every knob shows the value that Python gave last.
  restoreKnobs() {
    this.moving = null;
    this.bench.ghost(false);
    for (const input of this.frame.querySelectorAll("[data-knob]")) {
      if (!input.dataset.values) input.value = input.defaultValue;
      else if (input.matches("select")) showKnob(input, JSON.parse(input.dataset.values)[[...input.options].findIndex((each) => each.defaultSelected)]);
      else showKnob(input, JSON.parse(input.dataset.values)[Number(input.getAttribute("value"))]);
    }
  }

  typed(input) {
    const number = Number(input.value);
    const value = input.value.trim() !== "" && Number.isFinite(number) ? number : input.value;
    this.bench.do({ do: "set_knobs", knobs: { [input.dataset.knob]: value } });
  }

  key(event) {
    const row = event.target.closest(".lhw-row");
    const isMain = event.target.matches(".lhw-main");
    const by = { ArrowUp: -1, ArrowDown: 1 }[event.key];
    if (by && event.altKey && row?.dataset.kind === "step") return this.move(row, by);
    if (event.altKey || event.ctrlKey || event.metaKey) return false;
    if (by && isMain) return this.walk(event.target, by);
    if (!isMain && event.key === "Escape" && row) return this.leave(row);
    if (!isMain) return false;
    if (event.key === "Enter") return this.walk(event.target, 0);
    if (event.key === "h") return this.nextHandle(row);
    if (event.key === "k") return this.enter(row.querySelector("[data-knob]"));
    const press = { Delete: "[data-do*=remove_step]", " ": ".lhw-switch", e: "[data-edit]", F2: "[data-edit]",
      d: "[data-do*=duplicate_step]" }[event.key];
    const button = press && row.querySelector(press);
    button?.click();
    return Boolean(button);
  }

  walk(main, by) {
    const mains = this.mains();
    const next = mains[mains.indexOf(main) + by];
    if (next) {
      next.focus();
      if (next.dataset.goto !== undefined) this.bench.goTo(Number(next.dataset.goto));
    }
    return true;
  }

  // Into a control of a row, and back.
  enter(control) {
    control?.focus();
    return Boolean(control);
  }

  leave(row) {
    return this.enter(row.querySelector(".lhw-main"));
  }

  // Select the handles of a row one after the other.
  nextHandle(row) {
    const handles = [...row.querySelectorAll(".lhw-main [data-handle]")];
    const ids = String(this.bench.selection?.id);
    const at = handles.findIndex((each) => each.dataset.handle === ids);
    const next = handles[(at + 1) % handles.length];
    if (next) this.bench.select(next);
    return Boolean(next);
  }

  move(row, by) {
    const button = row.querySelector(`[data-do*='"by":${by},']`);
    if (button) this.bench.do(JSON.parse(button.dataset.do)).then(() => this.focusNow());
    return true;
  }

  focusNow() {
    this.frame.querySelector(".lhw-row.lh-now .lhw-main")?.focus();
  }

  dragStart(event) {
    const row = event.target.closest?.('.lhw-row[data-kind="step"]');
    if (!row) return event.preventDefault();
    this.dragged = row;
    event.dataTransfer.effectAllowed = "move";
    event.dataTransfer.setData("text/plain", row.dataset.at);
  }

  dragOver(event) {
    const row = event.target.closest?.('.lhw-row[data-kind="step"]');
    if (!this.dragged || !row || row === this.dragged) return;
    event.preventDefault();
    this.clearDrop();
    const box = row.getBoundingClientRect();
    row.dataset.drop = event.clientY < box.top + box.height / 2 ? "before" : "after";
  }

  drop(event) {
    const row = this.frame.querySelector("[data-drop]");
    if (!this.dragged || !row) return;
    event.preventDefault();
    const command = { do: "move_step", step: this.dragged.dataset.at, [row.dataset.drop]: row.dataset.at };
    this.bench.do({ ...command, version: this.bench.part("steps").version });
    this.dragEnd();
  }

  dragEnd() {
    this.dragged = null;
    this.clearDrop();
  }

  clearDrop() {
    for (const row of this.frame.querySelectorAll("[data-drop]")) delete row.dataset.drop;
  }
}

PANES.push(StepsPane);
