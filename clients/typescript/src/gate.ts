import { PetcatError } from "./errors.js";
import { room, type Limits, type Window } from "./limits.js";

/**
 * How long the numbers of an answer are believed: other clients may use the requests that remain. It is also
 * how long the gate waits for the answer to a request that goes first.
 */
const trustMs = 1000;
// A window ends at the same time for all clients, so each sends again at a random time after that: within a
// sixtieth of the window, and after 429s in a row within one second, two, four and so on.
const spreadPart = 60;
const firstSpreadMs = 1000;
const maxSpreadMs = 60_000;
/** The longest time that a timer can be set to. */
const longestTimerMs = 2 ** 31 - 1;

interface Waiter {
  pass(number: number): void;
  fail(error: unknown): void;
}

/**
 * The gate that all requests of a client pass, as many as the service will admit.
 *
 * While the limits are unknown, one request passes and the others wait for its answer, for at most a second.
 * An answer says how many requests remain: for a second, so many pass, less those in flight. When none remain,
 * the gate closes until the window ends and a little longer. After a 429 it closes until Retry-After has
 * passed and a random time longer, which doubles with each 429 in a row; then one request goes first, and the
 * others are spread over that window.
 *
 * Times are of performance.now(), which nobody sets.
 */
export class Gate {
  private queue: Waiter[] = []; // first come, first served
  private timer: ReturnType<typeof setTimeout> | undefined; // calls advance
  private opens = 0; // nothing is sent before it
  private closed: PetcatError | undefined; // why, if the service refuses requests
  // How many requests would be admitted, and how many of them have been sent; until when the first is believed.
  private remaining = 0;
  private inFlight = 0;
  private fresh = 0;
  // Until then, requests are spread as if told requests remained.
  private spreadTill = 0;
  private told = 1;
  private sent = 0; // how many requests were sent
  private learned = 0; // sent when an answer was last believed: answers to later requests are newer
  private refusals = 0; // 429s in a row

  constructor(private readonly maxWaitMs: number) {}

  /**
   * Waits until a request may be sent, and returns its number: one of the methods below must be called once
   * with it. Rejects with what the service would answer if the wait would be too long.
   */
  enter(signal?: AbortSignal): Promise<number> {
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        this.queue = this.queue.filter((other) => other !== waiter);
        waiter.fail(signal?.reason);
        this.advance();
      };
      const waiter: Waiter = {
        pass: (number) => (signal?.removeEventListener("abort", leave), resolve(number)),
        fail: (error) => (signal?.removeEventListener("abort", leave), reject(error)),
      };
      signal?.addEventListener("abort", leave);
      this.queue.push(waiter);
      this.turnAway();
      this.advance();
    });
  }

  /** Turns away those who would wait too long: all, because all wait equally long. */
  private turnAway(): void {
    const wait = this.opens - performance.now();
    if (!this.closed || wait <= this.maxWaitMs || wait <= 0) return;
    const { status, code, message, requestId } = this.closed;
    const why = () => new PetcatError(status, code, message, { requestId, retryAfterMs: Math.ceil(wait / 1000) * 1000, notSent: true });
    for (const waiter of this.queue.splice(0)) waiter.fail(why());
  }

  /** Lets as many pass as may. */
  private advance(): void {
    clearTimeout(this.timer);
    while (this.queue.length > 0) {
      const at = performance.now();
      if (at < this.opens) return this.wake(this.opens - at);
      this.closed = undefined;
      if (at >= this.fresh) {
        // Nothing is known of the limits, so only one request goes first.
        this.remaining = this.inFlight + 1;
        this.fresh = at + trustMs;
      }
      if (this.remaining <= this.inFlight) return this.wake(this.fresh - at);
      if (this.spreadTill > at) this.opens = at + (this.spreadTill - at) / Math.max(this.told, 1);
      this.inFlight++;
      this.sent++;
      this.queue.shift()?.pass(this.sent);
    }
  }

  private wake(afterMs: number): void {
    this.timer = setTimeout(() => this.advance(), Math.min(Math.ceil(afterMs), longestTimerMs));
  }

  private close(why: PetcatError, until: number): void {
    this.closed = why;
    this.opens = until;
    this.fresh = 0;
    this.turnAway();
  }

  /** The service says that it would admit requests. */
  reopen(): void {
    if (!this.closed) return;
    this.opens = performance.now();
    this.advance();
  }

  /** Records that a request got an answer with these limits. */
  answered(number: number, limits: Limits | undefined): void {
    const known = room(limits?.windows);
    if (!known) return this.unanswered();
    const { tightest } = known;
    const until = performance.now() + (+known.until - Date.now());
    this.inFlight--;
    // Of answers to requests that were in flight together, the lowest counts: any of them may be the last
    // that the service admitted.
    const newer = number > this.learned;
    if (newer || (!this.closed && tightest.remaining < this.remaining)) {
      if (newer && this.refusals > 0) {
        this.refusals = 0;
        this.spreadTill = until;
      }
      this.learned = this.sent;
      this.remaining = this.told = tightest.remaining;
      this.fresh = Math.min(performance.now() + trustMs, until);
      if (tightest.remaining === 0) {
        const spread = Math.min(Math.max(tightest.lengthMs / spreadPart, firstSpreadMs), maxSpreadMs);
        this.close(spent(tightest), until + jitter(spread));
      }
    }
    this.advance();
  }

  /** Records that a request got a 429. */
  refused(number: number, why: PetcatError): void {
    this.inFlight--;
    if (!this.closed || number > this.learned) this.refusals++; // else it was in flight with one that was refused
    this.learned = this.sent;
    const spread = Math.min(firstSpreadMs * 2 ** Math.min(this.refusals - 1, 16), maxSpreadMs);
    // Without a Retry-After at least half of the spread is waited.
    const wait = why.retryAfterMs === undefined ? spread / 2 + jitter(spread / 2) : why.retryAfterMs + jitter(spread);
    this.close(why, Math.max(performance.now() + wait, this.closed ? this.opens : 0));
    this.advance();
  }

  /** Records that a request got no answer, or one without limits. The service may have counted it. */
  unanswered(): void {
    this.inFlight--;
    this.remaining--;
    if (this.inFlight === 0) this.fresh = 0; // the service may have been restarted, and count anew
    this.advance();
  }
}

/** A random time, so that what failed together is not sent again together. */
export function jitter(ms: number): number {
  return Math.random() * ms;
}

/** What the service would answer while no requests of a window remain. */
function spent({ name, limit }: Window): PetcatError {
  const code = name === "day" ? "daily_quota_exceeded" : "rate_limit_exceeded";
  return new PetcatError(429, code, `all ${limit} requests of the ${name} are used`);
}
