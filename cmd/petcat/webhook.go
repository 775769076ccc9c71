package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/representation"
)

func (p *program) webhookCommand() *cobra.Command {
	rotate := p.managing(&cobra.Command{
		Use:     "rotate WEBHOOK_ID",
		Short:   "Replace the secret, and show the new one once",
		Example: "  petcat webhook rotate 3 --overlap 7d",
	}, rotateWebhook)
	rotate.Flags().String("overlap", "24h", "sign with both secrets for this `time`, from 0 to 30d")
	deletion := p.managing(&cobra.Command{
		Use:     "delete WEBHOOK_ID",
		Short:   "Delete a webhook",
		Example: "  petcat webhook delete 3",
	}, deleteWebhook)
	yesFlag(deletion)
	return parent(&cobra.Command{
		Use:   "webhook",
		Short: "Manage webhooks, which send events to URLs",
		Long: `Manage webhooks, which send events to URLs, signed as in Standard Webhooks
1.0.0. WEBHOOK_ID is a number such as 3. If a receiver does not return 2xx
within 15 seconds, petcat retries after 5 s, 5 min, 30 min, 2 h, 5 h, 10 h and
24 h, and then disables the webhook.`,
	},
		p.createWebhookCommand(),
		p.managing(&cobra.Command{
			Use:     "list",
			Short:   "List the webhooks",
			Example: "  petcat webhook list",
		}, listWebhooks),
		p.managing(&cobra.Command{
			Use:     "show WEBHOOK_ID",
			Short:   "Show a webhook and its last deliveries",
			Example: "  petcat webhook show 3",
		}, showWebhook),
		p.managing(&cobra.Command{
			Use:     "test WEBHOOK_ID",
			Short:   "Send a test event",
			Example: "  petcat webhook test 3",
			Long: `Queue the event webhook.test. If the webhook is failing, it is retried
immediately. A server must be running.`,
		}, testWebhook),
		rotate,
		p.managing(&cobra.Command{
			Use:     "enable WEBHOOK_ID",
			Short:   "Send events again, starting after the last delivered one",
			Example: "  petcat webhook enable 3",
		}, setWebhook(petcat.EnableWebhook)),
		p.managing(&cobra.Command{
			Use:     "disable WEBHOOK_ID",
			Short:   "Stop sending events, which are kept for 30 days",
			Example: "  petcat webhook disable 3",
		}, setWebhook(petcat.DisableWebhook)),
		deletion,
	)
}

func (p *program) createWebhookCommand() *cobra.Command {
	cmd := p.managing(&cobra.Command{
		Use:   "create URL",
		Short: "Send future events to a URL, and show the signing secret",
		Long: `Send future events to a URL. The secret that signs them is shown once. A
receiver at a private address, or without TLS, must be in a network of
--webhook-allow, of this command and of the servers. If the secret cannot be
printed, the webhook is deleted, and the exit code is 75.`,
		Example: `  petcat webhook create https://example.com/petcat
  petcat webhook create https://example.com/petcat --types quota.warning,key.expiring`,
	}, createWebhook, "webhook-allow")
	cmd.Flags().StringSlice("types", nil, "send only events of these `types`, separated by commas")
	var types []string
	for _, t := range petcat.EventTypes() {
		types = append(types, string(t))
	}
	complete(cmd, "types", types...)
	return cmd
}

// parseWebhookID parses the id of a webhook.
func parseWebhookID(text string) (petcat.WebhookID, error) {
	id, isID := petcat.ParseID(text)
	if !isID {
		return 0, usageErrorf("%q is not the id of a webhook, which is a number such as 3", text)
	}
	return petcat.WebhookID(id), nil
}

// webhookID returns the first argument, which arguments has validated.
func (c *call) webhookID() petcat.WebhookID {
	id, _ := parseWebhookID(c.args[0])
	return id
}

func createWebhook(c *call) error {
	types, err := c.cmd.Flags().GetStringSlice("types")
	if err != nil {
		return err
	}
	n, err := petcat.ParseNewWebhook(c.args[0], types, c.settings.WebhookAllow)
	if err != nil {
		return usage(err)
	}
	secret, err := petcat.GenerateWebhookSecret(c.random)
	if err != nil {
		return err
	}
	return c.showOnce(func() (secretive, error) {
		made, err := c.store.CreateWebhook(c.ctx(), petcat.By(actor()), n, secret)
		id := made.Value.ID
		return secretive{
			record:   append(representation.Webhook(made.Value), kv("secret", secret.Reveal())),
			sentence: fmt.Sprintf("Webhook %d gets the events from now on. Store its secret now: it will not be shown again.", int64(id)),
			secret:   secret.Reveal(),
			undo: func() error {
				_, err := c.store.DeleteWebhook(c.ctx(), petcat.By(actor()), id)
				return err
			},
			remedy: fmt.Sprintf("delete it with: petcat webhook delete %d", int64(id)),
		}, err
	})
}

func rotateWebhook(c *call) error {
	overlap, err := c.duration("overlap")
	if err != nil {
		return err
	}
	secret, err := petcat.GenerateWebhookSecret(c.random)
	if err != nil {
		return err
	}
	return c.showOnce(func() (secretive, error) {
		rotated, err := c.store.RotateWebhook(c.ctx(), petcat.By(actor()), petcat.WebhookRotation{
			Webhook: c.webhookID(),
			Secret:  secret,
			Overlap: overlap,
		})
		w := rotated.Value
		return secretive{
			record: append(representation.Webhook(w), kv("secret", secret.Reveal())),
			sentence: fmt.Sprintf("The old secret of webhook %d also signs until %s. "+
				"Store the new one now: it will not be shown again.", int64(w.ID), timestamp(w.OverlapEnds)),
			secret: secret.Reveal(),
			lost:   fmt.Sprintf("the new secret is lost; run petcat webhook rotate %d again", int64(w.ID)),
		}, err
	})
}

func listWebhooks(c *call) error {
	all, err := c.store.Webhooks(c.ctx())
	if err != nil {
		return err
	}
	return c.list(records(c, all), "id state types attempts next_attempt_at url",
		"There are no webhooks yet; create one with: petcat webhook create URL")
}

func showWebhook(c *call) error {
	w, err := c.store.FindWebhook(c.ctx(), c.webhookID())
	if err != nil {
		return err
	}
	deliveries, err := c.store.Deliveries(c.ctx(), w.ID)
	if err != nil {
		return err
	}
	shown := representation.Webhook(w)
	if c.asJSON {
		return c.show(append(shown, kv("deliveries", append([]record{}, records(c, deliveries)...))))
	}
	if err := c.show(shown); err != nil {
		return err
	}
	if err := c.say(""); err != nil {
		return err
	}
	return c.list(records(c, deliveries), "at event type attempt status response", "No deliveries yet.")
}

func testWebhook(c *call) error {
	tested, err := c.store.TestWebhook(c.ctx(), petcat.By(actor()), c.webhookID())
	return c.done(err, representation.Webhook(tested.Value),
		"The test event is queued. See the result with: petcat webhook show %d", int64(tested.Value.ID))
}

// setWebhook returns a command that changes the state of a webhook.
func setWebhook(action petcat.WebhookAction) func(*call) error {
	return func(c *call) error {
		set, err := c.store.ChangeWebhook(c.ctx(), petcat.By(actor()), c.webhookID(), action)
		w := set.Value
		return c.done(err, representation.Webhook(w), "Webhook %d is %s.", int64(w.ID), w.State())
	}
}

func deleteWebhook(c *call) error {
	w, err := c.store.FindWebhook(c.ctx(), c.webhookID())
	if err != nil {
		return err
	}
	err = c.confirm(c.is("yes"), "Permanently delete webhook %d to %s in %s?", int64(w.ID), w.Host(), place(c.settings))
	if err != nil {
		return err
	}
	deleted, err := c.store.DeleteWebhook(c.ctx(), petcat.By(actor()), w.ID)
	return c.done(err, representation.Webhook(deleted.Value), "Webhook %d to %s is deleted.", int64(w.ID), w.Host())
}
