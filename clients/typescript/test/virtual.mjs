// Virtual time, which advances to the next timer when everything waits.
import { setImmediate as idle } from "node:timers/promises";

export class VirtualTime {
  #timers = new Map();
  #last = 0;

  constructor(begin) {
    this.begin = begin;
    this.at = begin; // milliseconds
  }

  // Runs a function in virtual time.
  async run(work) {
    const real = { setTimeout: globalThis.setTimeout, clearTimeout: globalThis.clearTimeout, dateNow: Date.now, now: performance.now };
    globalThis.setTimeout = (call, ms = 0) => {
      this.#timers.set(++this.#last, { call, at: this.at + ms });
      return this.#last;
    };
    globalThis.clearTimeout = (id) => this.#timers.delete(id);
    Date.now = () => this.at;
    performance.now = () => this.at - this.begin;
    try {
      let done = false;
      const result = work().finally(() => (done = true));
      result.catch(() => {}); // it is awaited below
      while (!done) {
        await idle();
        if (done) break;
        const [id, timer] = [...this.#timers].reduce((a, b) => (b[1].at < a[1].at ? b : a), [0, { at: Infinity }]);
        if (id === 0) throw new Error("everything waits, and there is no timer");
        this.#timers.delete(id);
        this.at = timer.at + 1e-3; // more than a rounding error
        timer.call();
      }
      return await result;
    } finally {
      globalThis.setTimeout = real.setTimeout;
      globalThis.clearTimeout = real.clearTimeout;
      Date.now = real.dateNow;
      performance.now = real.now;
    }
  }

  sleep(ms) {
    return new Promise((resolve) => setTimeout(resolve, ms));
  }
}
