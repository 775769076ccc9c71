"use strict";
Object.defineProperty(exports, "__esModule", { value: true });
exports.AbortError = exports.ConnectionError = exports.APIError = exports.PetcatError = void 0;
/** A call failed: an APIError or a ConnectionError. */
class PetcatError extends Error {
    /** Whether a create, an update or a delete may have been carried out. */
    outcomeUnknown = false;
    /** For JSON.stringify, which omits the message of other errors. */
    toJSON() {
        return { ...this, name: this.name, message: this.message };
    }
}
exports.PetcatError = PetcatError;
/** An error response, from the service or a proxy. The message has status, code, detail and request id. */
class APIError extends PetcatError {
    status;
    code;
    detail;
    name = "APIError";
    /** The member or parameter that is wrong, such as "name", if the service names one. */
    field;
    /** The headers of the response. */
    headers;
    /** Identifies the request. Quote it to the operator of the service. */
    requestId;
    /** How long to wait before the next request, if the response says so. */
    retryAfterMs;
    /** Whether the client rejected the call itself, because the service would have rejected it. */
    notSent;
    constructor(
    /** The HTTP status. */
    status, 
    /** The kind of failure; "" if the response is not from the service. */
    code, 
    /** Says, for people, what is wrong and what to do. */
    detail, details = {}) {
        const { field, headers = new Headers(), requestId, retryAfterMs, notSent = false } = details;
        let text = `${status}${code && ` ${code}`}: ${detail}`;
        if (notSent)
            text += ` (not sent; try again in ${Math.ceil((retryAfterMs ?? 0) / 1000)} s)`;
        else if (requestId)
            text += ` (request ${requestId})`;
        super(text);
        this.status = status;
        this.code = code;
        this.detail = detail;
        this.field = field;
        this.headers = headers;
        this.requestId = requestId;
        this.retryAfterMs = retryAfterMs;
        this.notSent = notSent;
    }
}
exports.APIError = APIError;
/** There was no response from the service. `cause` is the reason. */
class ConnectionError extends PetcatError {
    name = "ConnectionError";
    constructor(message, cause) {
        super(message, { cause });
    }
}
exports.ConnectionError = ConnectionError;
/** The signal aborted the call. `cause` is its reason. */
class AbortError extends ConnectionError {
    name = "AbortError";
    constructor(reason) {
        super("the call was aborted", reason);
    }
}
exports.AbortError = AbortError;
