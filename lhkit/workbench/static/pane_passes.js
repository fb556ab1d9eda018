// A pipeline pass by pass: a form for its text, and its page in a frame of its own.

class PassesPane extends BenchPane {
  static key = "passes";
  static title = "Passes";
  static area = "bottom";
  static shows = ["passes"];

  constructor(bench) {
    super(bench);
    this.pipeline = make("input", { name: "pipeline", value: "lower", spellcheck: "false", "aria-label": "pipeline" });
    this.scheduled = make("input", { type: "checkbox", name: "scheduled", checked: "" });
    this.node.prepend(make("form", { class: "lhw-bar", onsubmit: (event) => this.run(event) },
      make("label", {}, "pipeline ", this.pipeline), " ", make("label", {}, this.scheduled, " after the schedule"), " ",
      make("button", { type: "submit" }, "run the passes")));
    this.said = make("div");
    // lhkit's own page, in which a payload is text only. Of another origin JupyterLab gives a frame no size.
    this.page = make("iframe", { sandbox: "allow-scripts allow-same-origin", title: "passes", hidden: "" });
    this.frame.append(this.said, this.page);
  }

  update() {
    const { html, page } = this.bench.part("passes");
    this.said.replaceChildren(fragmentOf(html));
    this.page.hidden = !page;
    if (page !== this.shown) this.page.srcdoc = this.shown = page;
  }

  run(event) {
    event.preventDefault();
    this.bench.do({ do: "run_passes", pipeline: this.pipeline.value, scheduled: this.scheduled.checked });
  }
}

PANES.push(PassesPane);
