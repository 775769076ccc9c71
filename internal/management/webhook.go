package management

import (
	"context"
	"fmt"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/config"
	"github.com/petcat-api/petcat/internal/representation"
)

// WebhookStore is the part of [petcat.WebhookStore] that the API calls.
type WebhookStore interface {
	Webhooks(ctx context.Context) ([]petcat.Webhook, error)
	FindWebhook(ctx context.Context, id petcat.WebhookID) (petcat.Webhook, error)
	Deliveries(ctx context.Context, id petcat.WebhookID) ([]petcat.Delivery, error)
	CreateWebhook(
		ctx context.Context, by petcat.Author, n petcat.NewWebhook, secret petcat.Secret,
	) (petcat.Result[petcat.Webhook], error)
	ChangeWebhook(
		ctx context.Context, by petcat.Author, id petcat.WebhookID, action petcat.WebhookAction,
	) (petcat.Result[petcat.Webhook], error)
	RotateWebhook(ctx context.Context, by petcat.Author, r petcat.WebhookRotation) (petcat.Result[petcat.Webhook], error)
	TestWebhook(ctx context.Context, by petcat.Author, id petcat.WebhookID) (petcat.Result[petcat.Webhook], error)
	DeleteWebhook(ctx context.Context, by petcat.Author, id petcat.WebhookID) (petcat.Result[petcat.Webhook], error)
}

// webhookID returns the id in the path.
func webhookID(c *call) (petcat.WebhookID, error) {
	id, err := parseID(c.r.PathValue("webhook"))
	return petcat.WebhookID(id), err
}

// listWebhooks handles GET /webhooks.
func (a *API) listWebhooks(c *call) error {
	all, err := a.Store.Webhooks(c.ctx())
	if err != nil {
		return err
	}
	return okAll(c, all)
}

// getWebhook handles GET /webhooks/{webhook}.
func (a *API) getWebhook(c *call) error {
	id, err := webhookID(c)
	if err != nil {
		return err
	}
	w, err := a.Store.FindWebhook(c.ctx(), id)
	if err != nil {
		return err
	}
	deliveries, err := a.Store.Deliveries(c.ctx(), id)
	if err != nil {
		return err
	}
	return c.ok(append(representation.Webhook(w), representation.KV("deliveries", recordsOf(c, deliveries))))
}

// newWebhookJSON is the body about a new webhook.
type newWebhookJSON struct {
	URL   string   `json:"url"`
	Types []string `json:"types"`
}

// createWebhook handles POST /webhooks.
func (a *API) createWebhook(c *call) error {
	var body newWebhookJSON
	if err := c.read(&body); err != nil {
		return err
	}
	n, err := petcat.ParseNewWebhook(body.URL, body.Types, a.Webhooks)
	if err != nil {
		return err
	}
	secret, err := petcat.GenerateWebhookSecret(a.Keys.Random)
	if err != nil {
		return err
	}
	by, err := c.author(body)
	if err != nil {
		return err
	}
	made, err := a.Store.CreateWebhook(c.ctx(), by, n, secret)
	if err != nil {
		return err
	}
	return c.createdSecret(made, secret)
}

// createdSecret sends a webhook with its new secret. A replay has none.
func (c *call) createdSecret(made petcat.Result[petcat.Webhook], secret petcat.Secret) error {
	c.replayed(made.Replayed)
	shown := representation.Webhook(made.Value)
	if !made.Replayed {
		shown = append(shown, representation.KV("secret", secret.Reveal()))
	}
	return c.created(fmt.Sprintf("/webhooks/%d", int64(made.Value.ID)), shown)
}

// rotateWebhook handles POST /webhooks/{webhook}/rotate.
func (a *API) rotateWebhook(c *call) error {
	id, err := webhookID(c)
	if err != nil {
		return err
	}
	var body rotationJSON
	if err := c.read(&body); err != nil {
		return err
	}
	overlap, err := config.ParseOverlap(body.Overlap)
	if err != nil {
		return err
	}
	secret, err := petcat.GenerateWebhookSecret(a.Keys.Random)
	if err != nil {
		return err
	}
	by, err := c.author(body)
	if err != nil {
		return err
	}
	rotated, err := a.Store.RotateWebhook(c.ctx(), by, petcat.WebhookRotation{
		Webhook: id,
		Secret:  secret,
		Overlap: overlap,
	})
	if err != nil {
		return err
	}
	return c.createdSecret(rotated, secret)
}

// changeWebhook sends the webhook in the path after a change.
func changeWebhook(
	c *call, change func(context.Context, petcat.Author, petcat.WebhookID) (petcat.Result[petcat.Webhook], error),
) error {
	id, err := webhookID(c)
	if err != nil {
		return err
	}
	by, err := c.author(nil)
	if err != nil {
		return err
	}
	changed, err := change(c.ctx(), by, id)
	if err != nil {
		return err
	}
	c.replayed(changed.Replayed)
	return c.ok(changed.Value)
}

// testWebhook handles POST /webhooks/{webhook}/test.
func (a *API) testWebhook(c *call) error { return changeWebhook(c, a.Store.TestWebhook) }

// deleteWebhook handles DELETE /webhooks/{webhook}.
func (a *API) deleteWebhook(c *call) error { return changeWebhook(c, a.Store.DeleteWebhook) }

// enableWebhook handles POST /webhooks/{webhook}/enable.
func (a *API) enableWebhook(c *call) error { return a.setWebhook(c, petcat.EnableWebhook) }

// disableWebhook handles POST /webhooks/{webhook}/disable.
func (a *API) disableWebhook(c *call) error { return a.setWebhook(c, petcat.DisableWebhook) }

// setWebhook changes the state of the webhook in the path.
func (a *API) setWebhook(c *call, action petcat.WebhookAction) error {
	return changeWebhook(c, func(
		ctx context.Context, by petcat.Author, id petcat.WebhookID,
	) (petcat.Result[petcat.Webhook], error) {
		return a.Store.ChangeWebhook(ctx, by, id, action)
	})
}
