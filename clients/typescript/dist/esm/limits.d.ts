/** A period with a quota. */
export interface Window {
    /** such as "minute" */
    name: string;
    /** the quota */
    limit: number;
    lengthMs: number;
    remaining: number;
    /** its end, by this machine's clock */
    reset: Date;
}
/** The limits in a response. */
export interface Limits {
    /** The quota of the most restrictive window. */
    limit: number;
    remaining: number;
    /** The end of that window, by the service's clock. */
    reset: Date;
    windows: Window[];
}
export declare function readLimits(headers: Headers): Limits | undefined;
/**
 * Returns the window with the fewest remaining requests, and when that number expires: at its end if none
 * remain, else when the first window resets. Returns undefined if they are not the account's windows.
 */
export declare function room(windows?: Window[]): {
    tightest: Window;
    until: Date;
} | undefined;
/** Reads Retry-After. A date is relative to the Date of the response. */
export declare function readRetryAfter(headers: Headers): number | undefined;
