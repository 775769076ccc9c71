import type { components } from "./schema.js";

/** The kind of failure. New codes may be added: treat an unknown one by its status. */
export type ErrorCode = components["schemas"]["Error"]["code"];

interface Details {
  requestId?: string | undefined;
  retryAfterMs?: number | undefined;
  notSent?: boolean;
}

/** An error response, from the service or a proxy. */
export class PetcatError extends Error {
  override readonly name = "PetcatError";
  /** Identifies the request. Quote it to the operator of the service. */
  readonly requestId: string | undefined;
  /** How long to wait before the next request, if the response says so. */
  readonly retryAfterMs: number | undefined;
  /** Whether the client rejected the call itself, because the service would have rejected it. */
  readonly notSent: boolean;
  /** Whether a create, an update or a delete may have been carried out. */
  outcomeUnknown = false;

  /** @param code "" if the response is not from the service */
  constructor(
    readonly status: number,
    readonly code: ErrorCode,
    message: string,
    details: Details = {},
  ) {
    super(message);
    this.requestId = details.requestId;
    this.retryAfterMs = details.retryAfterMs;
    this.notSent = details.notSent ?? false;
  }
}

/** There was no response from the service. `cause` is the reason. */
export class ConnectionError extends Error {
  override readonly name = "ConnectionError";
  /** Whether a create, an update or a delete may have been carried out. */
  outcomeUnknown = false;

  constructor(message: string, cause?: unknown) {
    super(message, { cause });
  }
}
