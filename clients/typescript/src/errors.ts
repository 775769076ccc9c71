import type { components } from "./schema.js";

/** The kind of failure. New ones may be added: treat one that you do not know by its status. */
export type ErrorCode = components["schemas"]["Error"]["code"];

interface Details {
  requestId?: string | undefined;
  retryAfterMs?: number | undefined;
  notSent?: boolean;
}

/** The service, or something between, answered with an error. */
export class PetcatError extends Error {
  override readonly name = "PetcatError";
  /** To be quoted to the operator of the service. */
  readonly requestId: string | undefined;
  /** How long to wait before the next request, if the answer says so. */
  readonly retryAfterMs: number | undefined;
  /** Whether the client refused the call itself, because the service would have. */
  readonly notSent: boolean;
  /** Whether a create, an update or a delete may have been carried out all the same. */
  outcomeUnknown = false;

  /** @param code is "" if something else answered instead of the service */
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

/** There was no answer, or none that is the service's. `cause` says more. */
export class ConnectionError extends Error {
  override readonly name = "ConnectionError";
  /** Whether a create, an update or a delete may have been carried out all the same. */
  outcomeUnknown = false;

  constructor(message: string, cause?: unknown) {
    super(message, { cause });
  }
}
