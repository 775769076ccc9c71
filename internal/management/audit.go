package management

import (
	"context"

	"github.com/petcat-api/petcat"
)

// AuditStore is the part of [petcat.AuditStore] that the API calls.
type AuditStore interface {
	AuditPage(ctx context.Context, q petcat.AuditQuery) ([]petcat.AuditEntry, error)
}

// listAudit handles GET /audit: it lists the audit log, the newest entry first.
func (a *API) listAudit(c *call) error {
	limit, before, err := page(c, parseID)
	if err != nil {
		return err
	}
	entries, err := a.Store.AuditPage(c.ctx(), petcat.AuditQuery{Before: before, Newest: limit})
	if err != nil {
		return err
	}
	if len(entries) == limit {
		c.linkNext(entries[limit-1].Sequence)
	}
	return answerAll(c, entries)
}
