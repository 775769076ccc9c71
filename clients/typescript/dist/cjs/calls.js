"use strict";
Object.defineProperty(exports, "__esModule", { value: true });
exports.Caller = void 0;
exports.isRecord = isRecord;
exports.listOf = listOf;
const errors_js_1 = require("./errors.js");
const gate_js_1 = require("./gate.js");
const limits_js_1 = require("./limits.js");
const signals_js_1 = require("./signals.js");
// The delays between the requests of one call, before jitter: they double from the first to the maximum.
const firstDelayMs = 500;
const maxDelayMs = 30_000;
/** How often a failed connection is retried while the service has never responded, which takes 1.5 s: the URL may be wrong. */
const firstConnections = 2;
/** How long a create is retried with its idempotency key. The service keeps a key for 24 hours. */
const keyLifeMs = 23 * 3_600_000;
/** Sends the requests of one client. */
class Caller {
    settings;
    gate;
    limits;
    responded = false; // by the service, or by a proxy
    constructor(settings) {
        this.settings = settings;
        this.gate = new gate_js_1.Gate(settings.maxWaitMs);
    }
    /** Sends requests until one succeeds, or fails in a way that a retry cannot change. */
    async call(call) {
        const { settings } = this;
        const { signal, timeoutMs = settings.timeoutMs, maxRetries = settings.maxRetries } = call.options ?? {};
        if (!(typeof timeoutMs === "number" && timeoutMs > 0))
            throw new TypeError("timeoutMs must be a positive number");
        const [url, init] = this.request(call);
        const gate = isCounted(call) ? this.gate : new gate_js_1.Gate(settings.maxWaitMs);
        let last;
        let unknownSince; // when the first request was sent whose outcome is unknown
        const failed = (error) => {
            error.outcomeUnknown = unknownSince !== undefined && call.method !== "GET";
            return error;
        };
        for (let attempt = 1;; attempt++) {
            if (signal?.aborted)
                throw failed(new errors_js_1.AbortError(signal.reason));
            let number;
            try {
                number = await gate.enter(signal, (wait) => settings.onWait?.(wait));
            }
            catch (error) {
                if (signal?.aborted)
                    throw failed(new errors_js_1.AbortError(signal.reason));
                if (!(error instanceof errors_js_1.APIError))
                    throw error; // of onWait
                throw failed(last instanceof errors_js_1.APIError && last.status === 429 ? last : error);
            }
            if (signal?.aborted) {
                gate.done(number);
                throw failed(new errors_js_1.AbortError(signal.reason));
            }
            if (last && init.headers.has("Idempotency-Key") && unknownSince !== undefined && Date.now() - unknownSince > keyLifeMs) {
                gate.done(number);
                throw failed(last);
            }
            const sent = Date.now();
            const outcome = await this.send(call, url, init, gate, number, timeoutMs, unknownSince !== undefined);
            if (!("error" in outcome))
                return outcome;
            last = outcome.error;
            if (outcome.unknown)
                unknownSince ??= sent;
            if (signal?.aborted && last instanceof errors_js_1.ConnectionError)
                throw failed(new errors_js_1.AbortError(signal.reason));
            const { status = 0, retryAfterMs = 0 } = last instanceof errors_js_1.APIError ? last : {};
            const retries = this.responded || outcome.unknown || status ? maxRetries : Math.min(maxRetries, firstConnections);
            if (!outcome.again || attempt > retries || retryAfterMs > settings.maxWaitMs || signal?.aborted)
                throw failed(last);
            const gated = status === 429; // the gate delays the next request
            const backoff = Math.min(firstDelayMs * 2 ** (attempt - 1), maxDelayMs) / 2;
            const delayMs = gated ? retryAfterMs : retryAfterMs + backoff + (0, gate_js_1.jitter)(backoff);
            settings.onRetry?.({ error: last, attempt, delayMs });
            if (!gated)
                await pause(delayMs, signal);
        }
    }
    /** Iterates over a list, reading it in pages. */
    async *pages(path, options = {}, query = {}) {
        const { pageSize: limit = 1000, after = 0, ...rest } = options;
        for (let last = after;;) {
            const { value: page, headers } = await this.call({
                method: "GET", path, query: { limit, ...query, after: last || undefined }, read: (listOf), options: rest,
            });
            yield* page;
            const end = page.at(-1);
            if (!end || (page.length < limit && !/;\s*rel="?next\b/.test(headers.get("Link") ?? "")))
                return;
            if (end.id <= last)
                throw new errors_js_1.ConnectionError("the next page is the same page");
            last = end.id;
        }
    }
    request({ method, path, query = {}, body, headers, options }) {
        const given = Object.entries(query).flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]]));
        const url = this.settings.baseUrl + path + (given.length > 0 ? `?${new URLSearchParams(given)}` : "");
        const all = new Headers(options?.headers);
        const own = { ...this.settings.headers(), ...(body && { "Content-Type": "application/json" }), ...headers };
        for (const [name, value] of Object.entries(own))
            all.set(name, value);
        return [url, { method, headers: all, redirect: "manual", ...(body && { body: JSON.stringify(body) }) }];
    }
    /** Sends one request, and reports its outcome to the gate. */
    async send(call, url, init, gate, number, timeoutMs, repeated) {
        const repeatable = isRepeatable(call);
        const signal = call.options?.signal;
        const end = new AbortController();
        const stop = (0, signals_js_1.onAbort)(signal, () => end.abort(signal?.reason));
        const timer = setTimeout(() => end.abort(new Error("the request timed out")), Math.min(timeoutMs, 2 ** 31 - 1));
        let response;
        let text;
        try {
            response = await this.settings.fetch(url, { ...init, signal: end.signal });
            text = await response.text();
        }
        catch (error) {
            gate.done(number);
            return lost(error, repeatable, url);
        }
        finally {
            clearTimeout(timer);
            stop();
        }
        this.responded = true;
        const { status, headers } = response;
        const requestId = headers.get("X-Request-Id") ?? undefined;
        const details = { field: headers.get("X-Error-Field") ?? undefined, headers, requestId, retryAfterMs: (0, limits_js_1.readRetryAfter)(headers) };
        const error = new errors_js_1.APIError(status, ...reason(response, text, call.path), details);
        const changes = error.code === "too_many_changes"; // other requests go on
        const limits = changes || error.code === "address_not_allowed" ? undefined : (0, limits_js_1.readLimits)(headers);
        if (limits && (isCounted(call) || status !== 429))
            this.limits = limits; // else they are not the account's
        gate.done(number, limits, status === 429 && !changes ? error : undefined);
        const unchanged = status === 304 && init.headers.has("If-None-Match");
        // An earlier request of this call, whose response was lost, deleted it.
        const gone = status === 404 && error.code === "not_found" && call.method === "DELETE" && repeated;
        if (!(response.ok || unchanged || gone)) {
            const temporary = [500, 502, 503, 504, 520, 521, 522, 523, 524].includes(status) || (status === 409 && error.retryAfterMs !== undefined);
            return {
                error,
                again: status === 408 || (status === 429 && error.code !== "too_many_failed_attempts" && !changes) || (repeatable && temporary),
                unknown: status >= 500 || error.code === "idempotency_in_progress",
            };
        }
        const value = call.read(parse(text), response);
        if (value !== undefined)
            return { value, status, headers, requestId, limits };
        const message = `the response with status ${status} is not from the service; is ${this.settings.baseUrl} its URL?`;
        return { error: new errors_js_1.ConnectionError(message), again: false, unknown: true };
    }
}
exports.Caller = Caller;
/** Whether a second request is safe if the outcome of the first is unknown. */
function isRepeatable({ method, headers = {} }) {
    return method !== "PATCH" || Object.keys(headers).some((name) => name.toLowerCase() === "if-match");
}
/** Whether a call counts against the limits, and passes the gate. */
function isCounted({ path }) {
    return path !== "/usage" && path !== "/usage/history" && path !== "/key";
}
/** Whether a value is an object with a positive id. */
function isRecord(value) {
    return typeof value === "object" && value !== null && "id" in value && Number.isSafeInteger(value.id) && Number(value.id) > 0;
}
function listOf(value) {
    return Array.isArray(value) && value.every(isRecord) ? value : undefined;
}
/** The codes of Node.js and Bun for failed connections, Deno's text, and the codes for failed TLS. */
const notConnected = /^(ECONNREFUSED|ConnectionRefused|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|EADDRNOTAVAIL|UND_ERR_CONNECT_TIMEOUT)$/;
const notConnectedText = /connection refused|dns error/i;
/** The texts of Node.js and Deno for ports that fetch never connects to, such as 9. */
const badPort = /^bad port$|requests to port \d+ are blocked/i;
const noTls = /^(EPROTO|ERR_SSL_|ERR_TLS_|CERT_|SELF_SIGNED_|DEPTH_ZERO_|UNABLE_TO_)/;
/** Returns the outcome of a request without a response. */
function lost(error, repeatable, url) {
    const { cause, code: own } = error;
    const code = String(cause?.code ?? own ?? "");
    const text = (cause?.message || code || (error instanceof Error && error.message) || String(error)).trim();
    if (badPort.test(text))
        return { error: new errors_js_1.ConnectionError("fetch does not connect to this port", error), again: false, unknown: false };
    if (noTls.test(code)) {
        const message = `${text}; does the port speak TLS, with a certificate that this machine trusts?`;
        return { error: new errors_js_1.ConnectionError(message, error), again: false, unknown: false };
    }
    if (notConnected.test(code) || notConnectedText.test(text)) {
        return { error: new errors_js_1.ConnectionError(`cannot connect to ${address(url)}: ${text}`, error), again: repeatable, unknown: false };
    }
    return { error: new errors_js_1.ConnectionError(`no response: ${text}`, error), again: repeatable, unknown: true };
}
/** Returns host and port of a URL. */
function address(url) {
    const { hostname, port, protocol } = new URL(url);
    return `${hostname}:${port || (protocol === "https:" ? 443 : 80)}`;
}
/** Waits, at most until the signal aborts the call. */
function pause(ms, signal) {
    return new Promise((resolve) => {
        const done = () => {
            clearTimeout(timer);
            stop();
            resolve();
        };
        const timer = setTimeout(done, Math.min(ms, 2 ** 31 - 1));
        let stop = () => { };
        stop = (0, signals_js_1.onAbort)(signal, done);
    });
}
/** Returns code and message of an error response. */
function reason({ status, type, headers, statusText }, text, path) {
    const body = parse(text);
    if (typeof body?.code === "string" && typeof body.message === "string")
        return [body.code, body.message];
    // Not the service's. One line of text may explain it, such as that the server expects https.
    const line = text.trim();
    if (body === undefined && line !== "" && line.length < 200 && !/[<{[\n]/.test(line))
        return ["", line];
    if (type !== "opaqueredirect" && (status < 300 || status >= 400))
        return ["", `${statusText || `status ${status}`} (not from the service)`];
    const location = (headers.get("Location") ?? "(unknown)").split("?")[0] ?? "";
    const where = location.endsWith(path) ? location.slice(0, -path.length) : location;
    return ["", `redirects are not followed, because the key is for one service alone; if you trust it, use its URL: ${where}`];
}
/** Parses JSON; undefined if it is invalid. */
function parse(text) {
    try {
        return JSON.parse(text);
    }
    catch {
        return undefined;
    }
}
