package console

import (
	"crypto/rand"
	"strings"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/config"
	"github.com/petcat-api/petcat/internal/pages"
)

func (c *Console) webhooks(x *pages.Exchange) error {
	all, err := c.Store.Webhooks(x.R.Context())
	if err != nil {
		return err
	}
	return x.Render("webhooks", pages.View{
		Title:   "Webhooks",
		Section: "webhooks",
		Data: webhooksView{
			Webhooks: all,
			Types:    petcat.EventTypes(),
		},
	})
}

// webhooksView has all webhooks, and the event types for a new one.
type webhooksView struct {
	Webhooks []petcat.Webhook
	Types    []petcat.EventType
}

// webhookView is a webhook with its last deliveries.
type webhookView struct {
	petcat.Webhook

	Deliveries []petcat.Delivery
}

// webhookInPath returns the id of the webhook in the path.
func webhookInPath(x *pages.Exchange) petcat.WebhookID {
	return petcat.WebhookID(id(x.R.PathValue("webhook")))
}

// webhookPath returns the path of the page of a webhook.
func webhookPath(x *pages.Exchange) string { return "webhooks/" + x.R.PathValue("webhook") }

func (c *Console) webhook(x *pages.Exchange) error {
	w, err := c.Store.FindWebhook(x.R.Context(), webhookInPath(x))
	if err != nil {
		return err
	}
	deliveries, err := c.Store.Deliveries(x.R.Context(), w.ID)
	if err != nil {
		return err
	}
	return x.Render("webhook", pages.View{
		Title:   "Webhook to " + w.Host(),
		Section: "webhooks",
		Data: webhookView{
			Webhook:    w,
			Deliveries: deliveries,
		},
	})
}

func (c *Console) createWebhook(x *pages.Exchange) error {
	types := strings.FieldsFunc(x.Value("types"), func(r rune) bool { return r == ',' || r == ' ' })
	n, err := petcat.ParseNewWebhook(x.Value("url"), types, c.WebhookNetworks)
	if err != nil {
		return err
	}
	secret, err := petcat.GenerateWebhookSecret(rand.Reader)
	if err != nil {
		return err
	}
	by, err := x.Author()
	if err != nil {
		return err
	}
	made, err := c.Store.CreateWebhook(x.R.Context(), by, n, secret)
	if err != nil {
		return err
	}
	return showWebhookSecret(x, made, secret)
}

// newSecretView is a webhook whose secret is shown, once.
type newSecretView struct {
	petcat.Webhook

	Secret string
}

// showWebhookSecret shows the new secret of a webhook, unless the form was sent before.
func showWebhookSecret(x *pages.Exchange, made petcat.Result[petcat.Webhook], secret petcat.Secret) error {
	if made.Replayed {
		return x.GoTo("webhooks", "repeated")
	}
	return x.Render("new-webhook", pages.View{
		Title:   "Secret of the webhook",
		Section: "webhooks",
		Data: newSecretView{
			Webhook: made.Value,
			Secret:  secret.Reveal(),
		},
	})
}

func (c *Console) rotateWebhook(x *pages.Exchange) error {
	overlap, err := config.ParseOverlap(x.Value("overlap"))
	if err != nil {
		return err
	}
	secret, err := petcat.GenerateWebhookSecret(rand.Reader)
	if err != nil {
		return err
	}
	by, err := x.Author()
	if err != nil {
		return err
	}
	rotated, err := c.Store.RotateWebhook(x.R.Context(), by, petcat.WebhookRotation{
		Webhook: webhookInPath(x),
		Secret:  secret,
		Overlap: overlap,
	})
	if err != nil {
		return err
	}
	return showWebhookSecret(x, rotated, secret)
}

func (c *Console) testWebhook(x *pages.Exchange) error {
	by, err := x.Author()
	if err != nil {
		return err
	}
	tested, err := c.Store.TestWebhook(x.R.Context(), by, webhookInPath(x))
	if err != nil {
		return err
	}
	return x.Made(webhookPath(x), tested.Replayed, "tested")
}

func (c *Console) enableWebhook(x *pages.Exchange) error {
	return c.setWebhook(x, petcat.EnableWebhook, "enabled")
}

func (c *Console) disableWebhook(x *pages.Exchange) error {
	return c.setWebhook(x, petcat.DisableWebhook, "disabled")
}

// setWebhook changes the state of a webhook.
func (c *Console) setWebhook(x *pages.Exchange, action petcat.WebhookAction, done string) error {
	by, err := x.Author()
	if err != nil {
		return err
	}
	set, err := c.Store.ChangeWebhook(x.R.Context(), by, webhookInPath(x), action)
	if err != nil {
		return err
	}
	return x.Made(webhookPath(x), set.Replayed, done)
}

func (c *Console) confirmDeleteWebhook(x *pages.Exchange) error {
	w, err := c.Store.FindWebhook(x.R.Context(), webhookInPath(x))
	if err != nil {
		return err
	}
	return x.Confirm("webhooks", pages.Confirmation{
		Question:    "Delete the webhook to " + w.Host() + "?",
		Consequence: "It gets no further events, including those that are queued.",
		Action:      webhookPath(x) + "/delete",
		Button:      "Delete the webhook",
		Back:        webhookPath(x),
	})
}

func (c *Console) deleteWebhook(x *pages.Exchange) error {
	by, err := x.Author()
	if err != nil {
		return err
	}
	deleted, err := c.Store.DeleteWebhook(x.R.Context(), by, webhookInPath(x))
	if err != nil {
		return err
	}
	return x.Made("webhooks", deleted.Replayed, "deleted")
}
