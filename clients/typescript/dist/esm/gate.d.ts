import { APIError } from "./errors.js";
import { type Limits } from "./limits.js";
/** The argument of `onWait`: a call waits, because the service would reject its request. */
export interface Wait {
    /** the minimum */
    delayMs: number;
    /** the service's response to a request now; undefined if requests are only spread */
    error: APIError | undefined;
}
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
export declare class Gate {
    private readonly maxWaitMs;
    private queue;
    private timer;
    private opens;
    private closed;
    private remaining;
    private validUntil;
    private inFlight;
    private spreadUntil;
    private spreadOver;
    private sent;
    private known;
    private rejections;
    constructor(maxWaitMs: number);
    /**
     * Waits until a request may be sent, and returns its number, with which done must be called once. If the wait
     * would be too long, rejects with the error that the service would respond with.
     */
    enter(signal: AbortSignal | undefined, report: (wait: Wait) => void): Promise<number>;
    /** Reports the wait to each waiter, once for each reason. */
    private report;
    /** Fails all waiters if the gate opens too late: they all wait equally long. */
    private failIfTooLong;
    /** Allows as many waiters as possible. */
    private allow;
    private allowIn;
    /** Opens the gate, because the service says that it would allow requests. */
    reopen(): void;
    /**
     * Records the outcome of a request: its 429, or the limits in its response, which are undefined if it got no
     * response, or one without limits.
     */
    done(number: number, limits?: Limits, rejected?: APIError): void;
    private reject;
    private update;
    private close;
}
/** Returns a random delay, so that clients do not retry at the same time. */
export declare function jitter(ms: number): number;
