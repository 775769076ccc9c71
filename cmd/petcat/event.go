package main

import (
	"time"

	"github.com/go-json-experiment/json"
	"github.com/spf13/cobra"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/representation"
)

func (p *program) eventCommand() *cobra.Command {
	list := p.managing(&cobra.Command{
		Use:   "list",
		Short: "List the events of the last 30 days, oldest first",
		Example: `  petcat event list --after 17
  petcat event list --follow`,
	}, listEvents)
	list.Flags().String("after", "0", "list only events after the one with this `id`")
	list.Flags().Bool("follow", false, "also print new events until it is interrupted; with --json, one per line")
	return parent(&cobra.Command{
		Use:   "event",
		Short: "List events, such as reached quotas, bans and failed backups",
		Long: `List events: accounts close to their quotas, keys that expire, bans, plan
requests, failed backups and more. petcat webhook sends the same events to a
URL.`,
	}, list)
}

func listEvents(c *call) error {
	after, err := petcat.ParseEventID(c.text("after"))
	if err != nil {
		return usage(err)
	}
	if c.is("follow") {
		return followEvents(c, after)
	}
	var all []petcat.Event
	for {
		page, err := c.store.Events(c.ctx(), petcat.EventQuery{After: after, Limit: petcat.MaxPage})
		if err != nil {
			return err
		}
		all = append(all, page...)
		if len(page) < petcat.MaxPage {
			break
		}
		after = page[len(page)-1].ID
	}
	return c.list(records(c, all), "id timestamp type data", "No matching events.")
}

// followEvents prints events as they happen. Between two checks it closes the data, because an open SQLite
// file keeps a server from starting.
func followEvents(c *call, after petcat.EventID) error {
	defer interruptible(c.cmd)()
	for {
		page, err := c.store.Events(c.ctx(), petcat.EventQuery{After: after, Limit: petcat.MaxPage})
		if err != nil {
			return err
		}
		for _, e := range page {
			if err := c.printEvent(e); err != nil {
				return err
			}
			after = e.ID
		}
		if err := c.closeStore(); err != nil {
			return err
		}
		if err := c.flush(); err != nil {
			return err
		}
		select {
		case <-c.ctx().Done():
			return c.ctx().Err()
		case <-time.After(time.Second):
		}
		if err := c.openData(false); err != nil {
			return err
		}
	}
}

// printEvent prints an event as one line.
func (c *call) printEvent(e petcat.Event) error {
	if c.asJSON {
		line, err := json.Marshal(representation.Event(e))
		if err != nil {
			return err
		}
		_, err = c.printed.Write(append(line, '\n'))
		return err
	}
	return c.say("%d  %s  %s  %s", e.ID, timestamp(e.At), e.Type, e.Data)
}
