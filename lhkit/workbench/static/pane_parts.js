// The parts of a model, as bars once it was profiled: each a button that opens the part.

class PartsPane extends BenchPane {
  static key = "parts";
  static title = "Parts";
  static area = "middle";
  static shows = ["parts"];
  static items = "button, summary";

  get isOffered() {
    return this.bench.part("parts").count > 0;
  }

  update() {
    this.show(this.bench.part("parts").html);
  }

  badge() {
    return String(this.bench.part("parts").count || "");
  }
}

PANES.push(PartsPane);
