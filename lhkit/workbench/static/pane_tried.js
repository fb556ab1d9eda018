// What can be done with a handle, as it is found out: each a button that adds the step.

class TriedPane extends BenchPane {
  static key = "tried";
  static title = "What can I do";
  static area = "bottom";
  static shows = ["tried"];
  static items = "button, summary";

  update() {
    const { html, handle } = this.bench.part("tried");
    const isOther = handle !== this.handle;
    this.handle = handle;
    if (isOther) this.frame.replaceChildren(); // what was unfolded was of another handle
    this.show(html);
  }

  badge() {
    return String(this.bench.part("tried").count || "");
  }
}

PANES.push(TriedPane);
