// How commands and questions reach Python, and how their answers come back.

const BUSY_MS = 200; // shorter waits are not noticed
const BEAT_MS = 2000;
const MOST_BEATS = 4; // so many go by without an answer: counted, since a page that slept has missed none
const SILENT = "disconnected: the kernel does not answer. If it is busy, wait; if it was restarted, run the cell again.";
const GONE = "disconnected: run the cell again.";

// Commands go one after the other; of those that replace one another only the newest that waits is sent.
class Channel {
  constructor(model, id, busy, lost) {
    this.model = model;
    this.id = id;
    this.busy = busy;
    this.lost = lost;
    this.words = { silent: SILENT, gone: GONE, ...model.words }; // outside of Jupyter the model has its own
    this.why = ""; // not empty: disconnected
    this.count = 0;
    this.waiting = new Map(); // what was sent and is not answered
    this.queue = [];
    this.hear = (message) => this.answered(message);
    model.on("msg:custom", this.hear);
    this.gone = () => this.lose(this.words.gone);
    model.on("comm_live_update", this.gone); // Jupyter's own word that the kernel restarted or was shut down
    this.pulse = setInterval(() => this.beat(), BEAT_MS);
  }

  stop() {
    this.model.off("msg:custom", this.hear);
    this.model.off("comm_live_update", this.gone);
    clearInterval(this.pulse);
  }

  // Ask whether the kernel is there; also while it is lost, since one that was busy answers in the end.
  beat() {
    if (this.beats > 0) {
      if (++this.beats > MOST_BEATS && !this.why) this.lose(this.words.silent);
      return;
    }
    this.beats = 1;
    const heard = () => {
      this.beats = 0;
      if (this.why) this.lost((this.why = ""));
    };
    this.post({ do: "beat", by: this.id }).then(heard, () => (this.beats = 0));
  }

  // What was asked is not answered any more, and what waits is dropped.
  lose(why) {
    this.why = why;
    for (const [id, { reject, isBeat }] of this.waiting) {
      if (isBeat) continue;
      this.waiting.delete(id);
      reject(new Error(why));
    }
    for (const { resolve } of this.queue.splice(0)) resolve();
    this.lost(why);
  }

  send(content) {
    const sent = this.why ? Promise.reject(new Error(this.why)) : this.post(content);
    sent.catch(() => null); // a stop is sent without waiting for it
    return sent;
  }

  post(content) {
    const id = `${this.id}-${++this.count}`;
    return new Promise((resolve, reject) => {
      this.waiting.set(id, { resolve, reject, isBeat: content.do === "beat" });
      try {
        this.model.send({ ...content, id });
      } catch (error) {
        this.waiting.delete(id);
        reject(error); // the kernel is gone
      }
    });
  }

  answered({ done, reply, value, error }) {
    const id = done ?? reply;
    const found = this.waiting.get(id);
    if (!found) return;
    this.waiting.delete(id);
    if (error) found.reject(new Error(error));
    else found.resolve(value);
  }

  // How many messages, beats aside, have no answer yet.
  get asked() {
    return [...this.waiting.values()].filter(({ isBeat }) => !isBeat).length;
  }

  ask(question) {
    return this.send(question);
  }

  do(command, replaces = null) {
    if (this.why) return Promise.resolve();
    if (replaces) {
      const old = this.queue.find((each) => each.replaces === replaces);
      if (old) {
        old.command = command;
        return old.promise;
      }
    }
    const entry = { command, replaces };
    entry.promise = new Promise((resolve) => (entry.resolve = resolve));
    this.queue.push(entry);
    this.next();
    return entry.promise;
  }

  async next() {
    if (this.isSending || !this.queue.length) return;
    this.isSending = true;
    const entry = this.queue.shift();
    const timer = setTimeout(() => this.busy(entry.command), BUSY_MS);
    await this.send(entry.command).catch(() => null);
    clearTimeout(timer);
    this.isSending = false;
    if (!this.queue.length) this.busy(null);
    entry.resolve();
    this.next();
  }
}
