// What is wrong, with its repairs as buttons.

class ProblemsPane extends BenchPane {
  static key = "problems";
  static title = "Problems";
  static area = "bottom";
  static shows = ["problems"];
  static items = "button, summary";

  update() {
    const { html, status } = this.bench.part("problems");
    this.node.dataset.status = status;
    const wanted = make("div", { class: "lhw-frame" });
    wanted.append(fragmentOf(html));
    morph(this.frame, wanted);
    this.reindex();
  }

  badge() {
    const { count, status } = this.bench.part("problems");
    return status === "ok" ? "✓" : `${status === "failed" ? "✕" : "!"} ${count}`;
  }
}

PANES.push(ProblemsPane);
