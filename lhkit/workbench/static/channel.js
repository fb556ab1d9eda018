// How commands and questions reach Python, and how their answers come back.

const BUSY_MS = 200; // shorter waits are not noticed

// Commands go one after the other; of those that replace one another only the newest that waits is sent.
class Channel {
  constructor(model, id, busy, lost) {
    this.model = model;
    this.id = id;
    this.busy = busy;
    this.count = 0;
    this.waiting = new Map(); // what was sent and is not answered
    this.queue = [];
    this.held = 0; // commands wait while it is not 0
    this.hear = (message) => this.answered(message);
    model.on("msg:custom", this.hear);
    this.heart = new Heartbeat(model, id, (why) => {
      if (why) this.drop(why);
      lost(why);
    });
  }

  stop() {
    this.model.off("msg:custom", this.hear);
    this.heart.stop();
  }

  // Not empty: disconnected.
  get why() {
    return this.heart.why;
  }

  // What was asked is not answered any more, and what waits is dropped.
  drop(why) {
    for (const { reject } of this.waiting.values()) reject(new Error(why));
    this.waiting.clear();
    for (const { resolve } of this.queue.splice(0)) resolve();
  }

  send(content) {
    const sent = this.why ? Promise.reject(new Error(this.why)) : this.post(content);
    sent.catch(() => null); // a stop is sent without waiting for it
    return sent;
  }

  post(content) {
    const id = `${this.id}-${++this.count}`;
    return new Promise((resolve, reject) => {
      this.waiting.set(id, { resolve, reject });
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

  // How many messages have no answer yet.
  get asked() {
    return this.waiting.size;
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

  // Send commands after something else: handling what the kernel says delays it.
  hold(until) {
    this.held += 1;
    until.then(() => {
      this.held -= 1;
      this.next();
    });
  }

  // The page closes: what waits for its turn is sent now, or it would be lost.
  flush() {
    for (const { command } of this.queue.splice(0)) this.send(command);
  }

  async next() {
    if (this.sending || this.held || !this.queue.length) return;
    const entry = this.queue.shift();
    this.sending = entry.command;
    const timer = setTimeout(() => this.busy(entry.command), BUSY_MS);
    await this.send(entry.command).catch(() => null);
    clearTimeout(timer);
    this.sending = null;
    if (!this.queue.length) this.busy(null);
    entry.resolve();
    this.next();
  }
}
