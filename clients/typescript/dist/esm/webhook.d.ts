import { PetcatError } from "./errors.js";
/** What happened. New types and members of `data` may be added. */
export interface Event {
    /** In the order of events. */
    id: number;
    /** Such as "quota.warning". */
    type: string;
    /** When it happened, in RFC 3339. */
    timestamp: string;
    data: Record<string, unknown>;
}
/** The service did not send this message, or not in the last 5 minutes. */
export declare class WebhookError extends PetcatError {
    readonly name = "WebhookError";
}
/**
 * Returns the event of a message to a webhook. `secret` is the webhook's, which begins with `whsec_`, `headers` are
 * those of the request, and `body` is its whole body as it arrived. A receiver may get the same event twice, with the
 * same id.
 *
 * Fails with a WebhookError if the signature of Standard Webhooks is not valid: respond with 401 then, and with any
 * 2xx otherwise, within 15 seconds.
 */
export declare function verifyWebhook(secret: string, headers: Headers | Record<string, string | string[] | undefined>, body: string | Uint8Array): Promise<Event>;
