package management

import (
	"context"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/representation"
)

// AuditStore is the part of [petcat.AuditStore] that the API calls.
type AuditStore interface {
	AuditPage(ctx context.Context, q petcat.AuditQuery) ([]petcat.AuditEntry, error)
	EachAuditEntry(ctx context.Context, q petcat.AuditQuery, fn func(petcat.AuditEntry) error) error
}

// listAudit handles GET /audit: it lists the audit log, the newest entry first.
func (a *API) listAudit(c *call) error {
	limit, before, err := page(c, parseID)
	if err != nil {
		return err
	}
	q, err := a.auditQuery(c)
	if err != nil {
		return err
	}
	q.Before, q.Newest = before, limit
	entries, err := a.Store.AuditPage(c.ctx(), q)
	if err != nil {
		return err
	}
	if len(entries) == limit {
		c.linkNext(entries[limit-1].Sequence)
	}
	return okAll(c, entries)
}

// auditQuery returns the requested conditions.
func (a *API) auditQuery(c *call) (q petcat.AuditQuery, err error) {
	q.Actor = petcat.Actor(c.query("actor"))
	if text := c.query("key"); text != "" {
		q.Key, err = petcat.ParseKeyID(text)
		if err != nil {
			return q, err
		}
	}
	if ref := c.query("account"); ref != "" {
		account, err := a.Store.FindAccount(c.ctx(), ref)
		if err != nil {
			return q, err
		}
		q.Account = account.ID
	}
	q.Since, err = c.time("since")
	return q, err
}

// verifyAudit handles GET /audit/verify: it reads the whole audit log, and checks its hash chain and
// that it contains the heads of the query.
func (a *API) verifyAudit(c *call) error {
	var check petcat.AuditCheck
	for _, text := range c.r.URL.Query()["head"] {
		head, err := petcat.ParseAuditHead(text)
		if err != nil {
			return err
		}
		check.Expect(head)
	}
	var entries int64
	err := a.Store.EachAuditEntry(c.ctx(), petcat.AuditQuery{}, func(e petcat.AuditEntry) error {
		entries++
		check.Add(e)
		return nil
	})
	if err != nil {
		return err
	}
	findings := []string{}
	if fault := check.Fault(); fault != "" {
		findings = append(findings, fault)
	}
	report := representation.AuditReport(entries, check.Head())
	return c.ok(append(report, representation.KV("findings", findings)))
}
