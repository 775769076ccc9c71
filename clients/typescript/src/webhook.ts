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
export class WebhookError extends PetcatError {
  override readonly name = "WebhookError";
}

/** How old a message may be, and how far from the future, in seconds. */
const tolerance = 300;

const algorithm = { name: "HMAC", hash: "SHA-256" };

/**
 * Returns the event of a message to a webhook. `secret` is the webhook's, which begins with `whsec_`, `headers` are
 * those of the request, and `body` is its whole body as it arrived. A receiver may get the same event twice, with the
 * same id.
 *
 * Fails with a WebhookError if the signature of Standard Webhooks is not valid: respond with 401 then, and with any
 * 2xx otherwise, within 15 seconds.
 */
export async function verifyWebhook(
  secret: string,
  headers: Headers | Record<string, string | string[] | undefined>,
  body: string | Uint8Array,
): Promise<Event> {
  const key = decode(secret.replace(/^whsec_/, ""));
  if (!key?.length) throw new TypeError("the secret of the webhook must be the text that begins with whsec_");
  const header = (name: string): string => String((headers instanceof Headers ? headers.get(name) : headers[name]) ?? "");
  const id = header("webhook-id");
  const timestamp = header("webhook-timestamp");
  if (!id || !/^\d+$/.test(timestamp)) throw new WebhookError("the headers webhook-id and webhook-timestamp are missing");
  if (Math.abs(Date.now() / 1000 - Number(timestamp)) > tolerance) {
    throw new WebhookError("the message is not from the last 5 minutes; check this machine's clock");
  }
  const text = typeof body === "string" ? body : new TextDecoder().decode(body);
  const signed = new TextEncoder().encode(`${id}.${timestamp}.${text}`);
  const imported = await crypto.subtle.importKey("raw", key, algorithm, false, ["verify"]);
  for (const signature of header("webhook-signature").split(" ")) {
    const sent = signature.startsWith("v1,") ? decode(signature.slice(3)) : undefined;
    if (sent && (await crypto.subtle.verify(algorithm, imported, sent, signed))) return JSON.parse(text) as Event;
  }
  throw new WebhookError("no signature matches");
}

/** Returns the bytes of base64, undefined if it is none. */
function decode(text: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  } catch {
    return undefined;
  }
}
