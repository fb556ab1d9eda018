// What panes showed with knob values that were set before: it is shown at once when a slider comes back to them, and
// until Python has caught up with the hand.

const MOST_SEEN = 24;
const PARTS_OF_VALUES = new Set(["trace", "steps", "payload", "timeline", "tiles", "schedule_graph"]);

class SeenValues {
  constructor(bench) {
    this.bench = bench;
    this.kept = new Map(); // values of all knobs of a text → the parts
    this.shown = null; // parts that are shown in place of those of the model
    this.selections = 0; // steps that were selected by hand: the one on screen follows from the last of them
    this.values = null; // of all knobs, while a slider moves
  }

  key(values) {
    const { part, version } = this.bench.part("head");
    return JSON.stringify([part, version, Object.entries(values).sort()]);
  }

  // Keep the parts of the model, unless they are of other values than its knobs: on the way, or of the last good trace.
  keep() {
    const { queue, sending } = this.bench.channel;
    const isOnItsWay = [sending, ...queue.map(({ command }) => command)].some((each) => each && each.do !== "select");
    if (isOnItsWay || this.bench.part("head").stale) return;
    const parts = Object.fromEntries([...PARTS_OF_VALUES].map((name) => [name, this.bench.model.get(`part_${name}`)]));
    parts.selections = parts.payload.step === this.bench.step ? this.selections : -1;
    const key = this.key(this.bench.part("head").knobs);
    this.kept.delete(key);
    this.kept.set(key, parts);
    if (this.kept.size > MOST_SEEN) this.kept.delete(this.kept.keys().next().value);
  }

  // A knob moves: show what was seen with its new value; return false if there is nothing of the step on screen, or of
  // the one that Python showed in its place there, where steps have other numbers.
  move(knob, value) {
    if (!this.values) this.keep();
    this.values = { ...(this.values ?? this.bench.part("head").knobs), [knob]: value };
    const { step, whole, selection } = this.bench;
    const found = this.kept.get(this.key(this.values));
    const isOfStep = found && (found.payload.step === step || (found.selections === this.selections && !selection));
    this.shown = isOfStep && found.payload.whole === whole ? found : null;
    if (this.shown) {
      this.bench.step = this.shown.payload.step;
      this.bench.ghost(false);
      this.bench.showValues();
      this.bench.channel.hold(painted());
    }
    return Boolean(this.shown);
  }

  // Python has said what it is with the value that was set last.
  settle() {
    this.shown = this.values = null;
    this.bench.takeStep();
    this.keep();
    this.bench.showValues();
  }
}
