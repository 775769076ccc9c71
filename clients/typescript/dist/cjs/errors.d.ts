import type { components } from "./schema.js";
/** The kind of failure. New codes may be added: treat an unknown one by its status. */
export type ErrorCode = components["schemas"]["Error"]["code"];
/** A call failed: an APIError or a ConnectionError. */
export declare abstract class PetcatError extends Error {
    /** Whether a create, an update or a delete may have been carried out. */
    outcomeUnknown: boolean;
    /** For JSON.stringify, which omits the message of other errors. */
    toJSON(): object;
}
interface Details {
    field?: string | undefined;
    headers?: Headers | undefined;
    requestId?: string | undefined;
    retryAfterMs?: number | undefined;
    notSent?: boolean;
}
/** An error response, from the service or a proxy. The message has status, code, detail and request id. */
export declare class APIError extends PetcatError {
    /** The HTTP status. */
    readonly status: number;
    /** The kind of failure; "" if the response is not from the service. */
    readonly code: ErrorCode;
    /** Says, for people, what is wrong and what to do. */
    readonly detail: string;
    readonly name = "APIError";
    /** The member or parameter that is wrong, such as "name", if the service names one. */
    readonly field: string | undefined;
    /** The headers of the response. */
    readonly headers: Headers;
    /** Identifies the request. Quote it to the operator of the service. */
    readonly requestId: string | undefined;
    /** How long to wait before the next request, if the response says so. */
    readonly retryAfterMs: number | undefined;
    /** Whether the client rejected the call itself, because the service would have rejected it. */
    readonly notSent: boolean;
    constructor(
    /** The HTTP status. */
    status: number, 
    /** The kind of failure; "" if the response is not from the service. */
    code: ErrorCode, 
    /** Says, for people, what is wrong and what to do. */
    detail: string, details?: Details);
}
/** There was no response from the service. `cause` is the reason. */
export declare class ConnectionError extends PetcatError {
    readonly name: string;
    constructor(message: string, cause?: unknown);
}
/** The signal aborted the call. `cause` is its reason. */
export declare class AbortError extends ConnectionError {
    readonly name = "AbortError";
    constructor(reason: unknown);
}
export {};
