// What was run, measured and swept: bars beside each other, each a way back to its version.

class ResultsPane extends BenchPane {
  static key = "results";
  static title = "Results";
  static area = "bottom";
  static shows = ["results"];
  static items = "button, summary";

  update() {
    this.show(this.bench.part("results").html);
  }

  badge() {
    return String(this.bench.part("results").count || "");
  }
}

PANES.push(ResultsPane);
