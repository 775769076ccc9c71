"use strict";
Object.defineProperty(exports, "__esModule", { value: true });
exports.readLimits = readLimits;
exports.room = room;
exports.readRetryAfter = readRetryAfter;
/** Longer waits are shortened to this: 100 years. */
const longestMs = 100 * 365 * 86_400_000;
function readLimits(headers) {
    const [limit, remaining, reset] = ["Limit", "Remaining", "Reset"].map((name) => whole(headers.get(`X-RateLimit-${name}`)));
    if (limit === undefined || remaining === undefined || reset === undefined)
        return undefined;
    return { limit, remaining, reset: new Date(reset * 1000), windows: readWindows(headers) };
}
/** Returns all windows, or none if the headers name different ones: a service that does not know all counts omits some. */
function readWindows(headers) {
    const states = readItems(headers.get("RateLimit"));
    const policies = readItems(headers.get("RateLimit-Policy"));
    if (states.size !== policies.size)
        return [];
    const windows = [];
    for (const [name, { r, t }] of states) {
        const { q, w } = policies.get(name) ?? {};
        if (r === undefined || t === undefined || q === undefined || w === undefined)
            return [];
        windows.push({ name, limit: q, lengthMs: w * 1000, remaining: r, reset: new Date(Date.now() + t * 1000) });
    }
    return windows;
}
/** Parses items such as "minute";r=59;t=42. */
function readItems(field) {
    const items = new Map();
    for (const [, name = "", parameters = ""] of (field ?? "").matchAll(/"([^"]*)"([^,]*)/g)) {
        const item = {};
        for (const [, key = "", value] of parameters.matchAll(/;\s*(\w+)=(\d+)/g))
            item[key] = Number(value);
        items.set(name, item);
    }
    return items;
}
/**
 * Returns the window with the fewest remaining requests, and when that number expires: at its end if none
 * remain, else when the first window resets. Returns undefined if they are not the account's windows.
 */
function room(windows = []) {
    const [first] = windows;
    if (!first || first.name === "address")
        return undefined;
    const tightest = windows.reduce((a, b) => (b.remaining - a.remaining || +a.reset - +b.reset) < 0 ? b : a);
    if (tightest.remaining === 0)
        return { tightest, until: tightest.reset };
    return { tightest, until: windows.reduce((a, b) => (b.reset < a.reset ? b : a)).reset };
}
/** Reads Retry-After. A date is relative to the Date of the response. */
function readRetryAfter(headers) {
    const text = headers.get("Retry-After")?.trim();
    const seconds = whole(text);
    if (seconds !== undefined)
        return Math.min(seconds * 1000, longestMs);
    const until = readDate(text);
    if (until === undefined)
        return undefined;
    return Math.min(Math.max(until - (readDate(headers.get("Date")) ?? Date.now()), 0), longestMs);
}
function readDate(text) {
    const at = text?.endsWith("GMT") ? Date.parse(text) : NaN;
    return Number.isNaN(at) ? undefined : at;
}
function whole(text) {
    return text && /^\d+$/.test(text) ? Number(text) : undefined;
}
