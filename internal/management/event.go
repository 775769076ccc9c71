package management

import (
	"context"

	"github.com/petcat-api/petcat"
)

// EventStore is the part of [petcat.EventStore] that the API calls.
type EventStore interface {
	Events(ctx context.Context, q petcat.EventQuery) ([]petcat.Event, error)
}

// listEvents handles GET /events.
func (a *API) listEvents(c *call) error {
	limit, after, err := page(c, petcat.ParseEventID)
	if err != nil {
		return err
	}
	found, err := a.Store.Events(c.ctx(), petcat.EventQuery{After: after, Limit: limit})
	if err != nil {
		return err
	}
	if len(found) == limit {
		c.linkNext(int64(found[limit-1].ID))
	}
	return okAll(c, found)
}
