// Why two ops of the payload are not fused: a form with both, and the answer with its repairs as buttons.

class FusionPane extends BenchPane {
  static key = "fusion";
  static title = "Why not fused";
  static area = "bottom";
  static shows = ["fusion"];

  constructor(bench) {
    super(bench);
    const field = (name) => make("select", { name, "aria-label": name });
    [this.producer, this.consumer] = [field("producer"), field("consumer")];
    this.form = make("form", { class: "lhw-bar", onsubmit: (event) => this.ask(event) },
      make("label", {}, "producer ", this.producer), " ", make("label", {}, "consumer ", this.consumer), " ",
      make("button", { type: "submit" }, "why not fused?"));
    this.node.prepend(this.form);
  }

  update() {
    const { ops, chosen, html } = this.bench.part("fusion");
    const names = JSON.stringify(ops);
    if (names !== this.names) {
      this.names = names;
      [this.producer, this.consumer].forEach((field, i) => {
        const { value } = field;
        field.replaceChildren(...ops.map(([name, words]) => make("option", { value: name }, words)));
        field.value = ops.some(([name]) => name === value) ? value : (ops[i] ?? [""])[0];
      });
    }
    const pair = chosen.join(" ");
    if (chosen.length === 2 && pair !== this.pair) [this.producer.value, this.consumer.value] = chosen;
    this.pair = pair;
    const wanted = make("div", { class: "lhw-frame" });
    wanted.append(fragmentOf(html));
    morph(this.frame, wanted);
  }

  ask(event) {
    event.preventDefault();
    this.bench.do({ do: "why_not_fused", producer: this.producer.value, consumer: this.consumer.value });
  }
}

PANES.push(FusionPane);
