import { APIError } from "./errors.js";
import { room } from "./limits.js";
import { onAbort } from "./signals.js";
/**
 * How long the gate relies on the numbers of a response: other clients may use the requests that remain. It is
 * also the longest time that it waits for the response to a first request.
 */
const trustMs = 1000;
// A window resets at the same time for all clients, so each sends again after a random delay: up to a
// sixtieth of the window, and up to one, two, four seconds and so on after consecutive 429s.
const spreadPart = 60;
const firstSpreadMs = 1000;
const maxSpreadMs = 60_000;
/** Shorter waits are not reported. */
const reportedWaitMs = 1000;
/** The maximum delay of a timer. */
const longestTimerMs = 2 ** 31 - 1;
/**
 * The gate delays the requests of a client until the service will allow them.
 *
 * While the limits are unknown, it allows one request and holds the others until the response arrives, for at
 * most a second. The response says how many requests remain. For the next second, the gate allows that many,
 * minus those in flight. When none remain, it closes until the window has ended, plus a random delay. After a
 * 429, it closes until Retry-After has passed, plus a random delay that doubles with each consecutive 429.
 * Then it allows one request, and spreads the others over the window.
 *
 * Times are from the monotonic clock, performance.now().
 */
export class Gate {
    maxWaitMs;
    queue = []; // first in, first out
    timer; // calls allow
    opens = 0; // no request is allowed earlier
    closed; // the reason, if the service rejects requests
    // How many requests the service would allow, until when that is valid, and how many of them are in flight.
    remaining = 0;
    validUntil = 0;
    inFlight = 0;
    // Until spreadUntil, requests are evenly spaced, as many as spreadOver in the time left.
    spreadUntil = 0;
    spreadOver = 1;
    sent = 0; // the number of the last request
    known = 0; // sent at the last response that counted: later requests have newer responses
    rejections = 0; // consecutive 429s
    constructor(maxWaitMs) {
        this.maxWaitMs = maxWaitMs;
    }
    /**
     * Waits until a request may be sent, and returns its number, with which done must be called once. If the wait
     * would be too long, rejects with the error that the service would respond with.
     */
    async enter(signal, report) {
        let stop = () => { };
        try {
            return await new Promise((resolve, reject) => {
                const leave = (error) => {
                    this.queue = this.queue.filter((other) => other !== waiter);
                    reject(error);
                    this.allow();
                };
                const waiter = {
                    pass: resolve,
                    fail: reject,
                    report: (wait) => {
                        waiter.told = wait;
                        try {
                            report(wait);
                        }
                        catch (error) {
                            leave(error);
                        }
                    },
                };
                this.queue.push(waiter);
                stop = onAbort(signal, () => leave(signal?.reason));
                this.failIfTooLong();
                this.allow();
            });
        }
        finally {
            stop();
        }
    }
    /** Reports the wait to each waiter, once for each reason. */
    report(delayMs) {
        if (delayMs <= reportedWaitMs)
            return;
        const error = this.closed;
        for (const waiter of [...this.queue]) {
            if (!waiter.told || waiter.told.error !== error)
                waiter.report({ delayMs, error });
        }
    }
    /** Fails all waiters if the gate opens too late: they all wait equally long. */
    failIfTooLong() {
        const wait = this.opens - performance.now();
        if (!this.closed || wait <= this.maxWaitMs || wait <= 0)
            return;
        const { status, code, detail, requestId, headers } = this.closed;
        const retryAfterMs = Math.ceil(wait / 1000) * 1000;
        const error = () => new APIError(status, code, detail, { requestId, headers, retryAfterMs, notSent: true });
        for (const waiter of this.queue.splice(0))
            waiter.fail(error());
    }
    /** Allows as many waiters as possible. */
    allow() {
        clearTimeout(this.timer);
        while (this.queue.length > 0) {
            const at = performance.now();
            if (at < this.opens) {
                this.allowIn(this.opens - at);
                return this.report(this.opens - at);
            }
            this.closed = undefined;
            if (at >= this.validUntil) {
                // The limits are unknown: one request goes first.
                this.remaining = this.inFlight + 1;
                this.validUntil = at + trustMs;
            }
            if (this.remaining <= this.inFlight)
                return this.allowIn(this.validUntil - at);
            if (this.spreadUntil > at)
                this.opens = at + (this.spreadUntil - at) / Math.max(this.spreadOver, 1);
            this.inFlight++;
            this.sent++;
            this.queue.shift()?.pass(this.sent);
        }
    }
    allowIn(delayMs) {
        this.timer = setTimeout(() => this.allow(), Math.min(Math.ceil(delayMs), longestTimerMs));
    }
    /** Opens the gate, because the service says that it would allow requests. */
    reopen() {
        if (!this.closed)
            return;
        this.opens = performance.now();
        this.allow();
    }
    /**
     * Records the outcome of a request: its 429, or the limits in its response, which are undefined if it got no
     * response, or one without limits.
     */
    done(number, limits, rejected) {
        const known = room(limits?.windows);
        const newer = number > this.known;
        this.inFlight--;
        if (rejected) {
            this.reject(rejected, newer);
        }
        else if (!known) {
            this.remaining--; // the service may have counted the request
            if (this.inFlight === 0)
                this.validUntil = 0; // the service may have been restarted, with new counts
        }
        else if (newer || (!this.closed && known.tightest.remaining < this.remaining)) {
            // Of the responses to concurrent requests, the lowest counts: any of them may be the last that the
            // service allowed.
            this.update(known.tightest, performance.now() + (+known.until - Date.now()), newer);
        }
        this.allow();
    }
    reject(error, newer) {
        if (!this.closed || newer)
            this.rejections++; // else the 429 belongs to one that was counted
        this.known = this.sent;
        const spread = Math.min(firstSpreadMs * 2 ** Math.min(this.rejections - 1, 16), maxSpreadMs);
        // Without Retry-After, the delay is at least half of the spread.
        const wait = error.retryAfterMs === undefined ? spread / 2 + jitter(spread / 2) : error.retryAfterMs + jitter(spread);
        this.close(error, Math.max(performance.now() + wait, this.closed ? this.opens : 0));
    }
    update(window, until, newer) {
        if (newer && this.rejections > 0) {
            this.rejections = 0;
            this.spreadUntil = until;
        }
        this.known = this.sent;
        this.remaining = this.spreadOver = window.remaining;
        this.validUntil = Math.min(performance.now() + trustMs, until);
        if (window.remaining === 0) {
            const spread = Math.min(Math.max(window.lengthMs / spreadPart, firstSpreadMs), maxSpreadMs);
            this.close(exhausted(window), until + jitter(spread));
        }
    }
    close(reason, until) {
        this.closed = reason;
        this.opens = until;
        this.validUntil = 0;
        this.failIfTooLong();
    }
}
/** Returns a random delay, so that clients do not retry at the same time. */
export function jitter(ms) {
    return Math.random() * ms;
}
/** Returns the error that the service responds with until the end of an exhausted window. */
function exhausted({ name, limit }) {
    const code = name === "day" ? "daily_quota_exceeded" : "rate_limit_exceeded";
    return new APIError(429, code, `all ${limit} requests of the ${name} are used`);
}
