export { Petcat, version } from "./client.js";
export { AbortError, APIError, ConnectionError, PetcatError } from "./errors.js";
export { Mirror } from "./mirror.js";
export { verifyWebhook, WebhookError } from "./webhook.js";
