package main

import (
	"github.com/spf13/cobra"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/representation"
)

func (p *program) banCommand() *cobra.Command {
	list := p.managing(&cobra.Command{
		Use:     "list",
		Short:   "List the active bans",
		Example: "  petcat ban list --all",
	}, listBans)
	list.Flags().Bool("all", false,
		"also list ended and lifted bans of the last 30 days, one per key")
	return parent(&cobra.Command{
		Use:   "ban",
		Short: "List and lift the bans of keys",
		Long: `List and lift bans. A key is temporarily banned if its client keeps sending
requests that are rejected. Each ban is longer than the previous one: the levels
1 to 5 last 1 min, 5 min, 15 min, 1 h and 6 h. With petcat serve --bans shadow
or off, bans are not enforced.`,
	}, list, p.managing(&cobra.Command{
		Use:     "lift KEY_ID",
		Short:   "End the ban of a key now",
		Example: "  petcat ban lift key_34",
	}, liftBan))
}

func listBans(c *call) error {
	q := petcat.BanQuery{Active: c.now()}
	if c.is("all") {
		q = petcat.BanQuery{}
	}
	bans, err := c.store.BanPage(c.ctx(), q)
	if err != nil {
		return err
	}
	return c.list(
		records(c, bans),
		"key account state level started_at ends_at early_retries",
		"No bans.",
	)
}

func liftBan(c *call) error {
	lifted, err := c.store.LiftBan(c.ctx(), petcat.By(actor()), c.keyID())
	b := lifted.Value
	return c.done(err, representation.Ban(b, c.now()), "The ban of %s is lifted.", b.Key)
}
