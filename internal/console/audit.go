package console

import (
	"slices"
	"strings"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/pages"
)

// auditView is a page of the audit log, the newest entry first.
type auditView struct {
	Actor   string
	About   string
	Entries []entryView
	Paged   bool
	Next    *entryView
}

// entryView is an entry with the path of its subject's page, "" without one.
type entryView struct {
	petcat.AuditEntry

	Path string
}

func (c *Console) audit(x *pages.Exchange) error {
	v := auditView{
		Actor: x.Value("actor"),
		About: x.Value("about"),
	}
	q, err := c.auditQuery(x)
	if petcat.CodeOf(err) == petcat.CodeNotFound { // the account, not the page
		err = petcat.Errorf(petcat.CodeInvalidField, "%s", petcat.Public(err).Message)
	}
	if err != nil {
		return x.Again(err, "about", func(x *pages.Exchange) error { return showAudit(x, v) })
	}
	err = c.Store.EachAuditEntry(x.R.Context(), q, func(e petcat.AuditEntry) error {
		v.Entries = append(v.Entries, entryView{
			AuditEntry: e,
			Path:       pathOf(e.Subject),
		})
		return nil
	})
	if err != nil {
		return err
	}
	slices.Reverse(v.Entries)
	v.Paged = q.Before != 0
	v.Entries, v.Next = pages.Cut(v.Entries)
	return showAudit(x, v)
}

func showAudit(x *pages.Exchange, v auditView) error {
	return x.Render("audit", pages.View{
		Title:   "Audit log",
		Section: "audit",
		Data:    v,
	})
}

// auditCheckView is the result of a check of the whole audit log.
type auditCheckView struct {
	Entries int64
	Head    petcat.AuditHead
	Fault   string // "" without one
}

// verifyAudit checks the hash chain of the whole audit log.
func (c *Console) verifyAudit(x *pages.Exchange) error {
	var v auditCheckView
	var check petcat.AuditCheck
	err := c.Store.EachAuditEntry(x.R.Context(), petcat.AuditQuery{}, func(e petcat.AuditEntry) error {
		v.Entries++
		check.Add(e)
		return nil
	})
	if err != nil {
		return err
	}
	v.Head = check.Head()
	v.Fault = check.Fault()
	return x.Render("audit-check", pages.View{
		Title:   "Check of the audit log",
		Section: "audit",
		Data:    v,
	})
}

// auditQuery parses the query: entries by an actor, and about a key, or about an account and its keys.
func (c *Console) auditQuery(x *pages.Exchange) (petcat.AuditQuery, error) {
	q := petcat.AuditQuery{
		Actor:  petcat.Actor(x.Value("actor")),
		Before: id(x.Value("before")),
		Newest: pages.Size + 1,
	}
	about := x.Value("about")
	if about == "" {
		return q, nil
	}
	if key, err := petcat.ParseKeyID(about); err == nil {
		q.Key = key
		return q, nil
	}
	a, err := c.Store.FindAccount(x.R.Context(), about)
	q.Account = a.ID
	return q, err
}

// pathOf returns the path of the subject's page for an audit entry, "" without one.
func pathOf(subject string) string {
	if _, isID := petcat.ParseAccountRef(subject); isID {
		return "accounts/" + subject
	}
	if _, err := petcat.ParseKeyID(subject); err == nil {
		return "keys/" + subject
	}
	if number, found := strings.CutPrefix(subject, "category_"); found {
		return "categories/" + number
	}
	if kind, _, _ := strings.Cut(subject, " "); kind == "operator" || kind == "token" {
		return "operators"
	}
	return ""
}
