// The machine code of the hot loops, each instruction beside the payload line that it comes from and the step that made it.

class CodePane extends BenchPane {
  static key = "code";
  static title = "Code";
  static area = "pictures";
  static shows = ["code"];
  static items = ":is(summary, [role=button])";

  constructor(bench) {
    super(bench);
    this.look = make("button", { type: "button", onclick: () => bench.do({ do: "look_at_code" }) }, "compile");
    this.said = make("span", { class: "lh-said", role: "status" });
    this.node.prepend(make("div", { class: "lhw-bar", role: "toolbar", "aria-label": "code" }, this.look, this.said));
  }

  async update() {
    const { html, note, isCurrent, isRunning } = this.bench.part("code");
    this.look.hidden = isCurrent || isRunning;
    this.said.textContent = note;
    if (await this.place(html)) this.showStep();
  }

  // What the step made is marked, besides what is selected.
  showStep() {
    const { step } = this.bench;
    for (const row of this.frame.querySelectorAll("[data-made]")) row.classList.toggle("lhw-made", Number(row.dataset.made) === step);
  }
}

PANES.push(CodePane);
