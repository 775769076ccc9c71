import { APIError, ConnectionError } from "./errors.js";
import { Gate, type Wait } from "./gate.js";
import { type Limits } from "./limits.js";
/** Options of one call. */
export interface CallOptions {
    /** Aborts the call, at any moment: it rejects with an AbortError whose cause is the signal's reason. */
    signal?: AbortSignal | undefined;
    /** The maximum time of each request with its whole response. For the whole call, use AbortSignal.timeout. */
    timeoutMs?: number | undefined;
    maxRetries?: number | undefined;
    /** More headers of each request. */
    headers?: Record<string, string> | undefined;
}
/** The argument of `onRetry`: a request failed and is retried. */
export interface Retry {
    error: APIError | ConnectionError;
    /** 1 for the first retry of a call */
    attempt: number;
    /** the minimum delay */
    delayMs: number;
}
/** A result and its response. */
export interface Result<T> {
    value: T;
    status: number;
    headers: Headers;
    /** Identifies the request. Quote it to the operator of the service. */
    requestId: string | undefined;
    limits: Limits | undefined;
}
/** A call of an operation. All its requests are the same. */
export interface Call<T> {
    method: string;
    path: string;
    /** Converts the JSON to the result, or returns undefined if the response is not from the service. */
    read(value: unknown, response: Response): T | undefined;
    query?: Query | undefined;
    body?: object | undefined;
    headers?: Record<string, string>;
    options: CallOptions | undefined;
}
/** The query of a request. Members that are undefined are not sent. */
export type Query = Record<string, string | number | boolean | undefined>;
export interface Settings {
    baseUrl: string;
    headers(): Record<string, string>;
    fetch: typeof fetch;
    maxRetries: number;
    maxWaitMs: number;
    timeoutMs: number;
    onRetry: ((retry: Retry) => void) | undefined;
    onWait: ((wait: Wait) => void) | undefined;
}
/** Sends the requests of one client. */
export declare class Caller {
    private readonly settings;
    readonly gate: Gate;
    limits: Limits | undefined;
    private responded;
    constructor(settings: Settings);
    /** Sends requests until one succeeds, or fails in a way that a retry cannot change. */
    call<T>(call: Call<T>): Promise<Result<T>>;
    /** Iterates over a list, reading it in pages. */
    pages<T extends {
        id: number;
    }>(path: string, options?: PageOptions & CallOptions, query?: Query): AsyncGenerator<T, void>;
    private request;
    /** Sends one request, and reports its outcome to the gate. */
    private send;
}
/** How a list is read in pages. */
export interface PageOptions {
    /** The maximum number of elements, 1 to 1,000. */
    pageSize?: number | undefined;
    /** The id after which the list begins. */
    after?: number | undefined;
}
/** Whether a value is an object with a positive id. */
export declare function isRecord(value: unknown): value is {
    id: number;
};
export declare function listOf<T>(value: unknown): T[] | undefined;
