// Tests of the messages that the service sends to webhooks.
import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { test } from "node:test";
import { Webhook } from "standardwebhooks";
import { PetcatError, verifyWebhook, WebhookError } from "petcat";

const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const body = '{"id":7,"type":"plan.requested","timestamp":"2027-03-04T12:00:00Z","data":{"note":"ü"}}';

// Returns the headers of a message that was sent some seconds ago, as Node.js has them.
function message(age = 0) {
  const timestamp = String(Math.floor(Date.now() / 1000) - age);
  const hmac = createHmac("sha256", Buffer.from(secret.slice("whsec_".length), "base64"));
  const signature = hmac.update(`evt_1.${timestamp}.${body}`).digest("base64");
  return { "webhook-id": "evt_1", "webhook-timestamp": timestamp, "webhook-signature": `v1,AAAA v1,${signature}` };
}

test("a valid message is an event", async () => {
  const want = { id: 7, type: "plan.requested", timestamp: "2027-03-04T12:00:00Z", data: { note: "ü" } };
  for (const sent of [body, Buffer.from(body)]) {
    assert.deepEqual(await verifyWebhook(secret, message(), sent), want);
    assert.deepEqual(await verifyWebhook(secret, new Headers(message()), sent), want);
  }
});

test("another message is none", async () => {
  const signature = message()["webhook-signature"];
  for (const change of [
    { "webhook-id": "evt_2" },
    { "webhook-id": undefined },
    { "webhook-timestamp": String(Math.floor(Date.now() / 1000) + 9) },
    { "webhook-timestamp": "now" },
    { "webhook-signature": undefined },
    { "webhook-signature": "v1," },
    { "webhook-signature": "v1,*" },
    { "webhook-signature": signature.replaceAll("v1,", "v2,") },
    message(400),
    message(-400),
  ]) {
    await assert.rejects(verifyWebhook(secret, { ...message(), ...change }, body), WebhookError, JSON.stringify(change));
  }
  await assert.rejects(verifyWebhook(secret, message(), `${body} `), PetcatError);
  for (const wrong of ["", "whsec_", "whsec_*"]) await assert.rejects(verifyWebhook(wrong, message(), body), TypeError);
});

test("the official library of Standard Webhooks signs the same", async () => {
  const sent = new Date();
  const headers = {
    "webhook-id": "evt_1",
    "webhook-timestamp": String(Math.floor(sent.getTime() / 1000)),
    "webhook-signature": new Webhook(secret).sign("evt_1", sent, body),
  };
  assert.equal((await verifyWebhook(secret, headers, body)).id, 7);
  assert.deepEqual(new Webhook(secret).verify(body, message()), JSON.parse(body));
});
