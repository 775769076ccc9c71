package console

import (
	"slices"

	"petcat"
	"petcat/internal/pages"
)

// auditView is a page of the audit log, the newest entry first.
type auditView struct {
	Actor, About string
	Entries      []petcat.AuditEntry
	Paged        bool
	Next         *petcat.AuditEntry
}

func audit(x *exchange) error {
	v := auditView{Actor: x.value("actor"), About: x.value("about")}
	q := petcat.AuditQuery{Actor: petcat.Actor(v.Actor), Before: id(x.value("before")), Newest: pageSize + 1}
	if v.About != "" {
		if err := x.aboutWhom(&q, v.About); petcat.CodeOf(err) == petcat.CodeInternalError {
			return err
		} else if err != nil {
			x.problem = pages.Sentence(petcat.Public(err).Message)
		}
	}
	v.Paged = q.Before != 0
	err := x.Store.EachAuditEntry(x.r.Context(), q, func(e petcat.AuditEntry) error {
		v.Entries = append(v.Entries, e)
		return nil
	})
	if err != nil {
		return err
	}
	slices.Reverse(v.Entries)
	v.Entries, v.Next = cut(v.Entries)
	return x.render("audit", view{Title: "Audit log", Section: "audit", Data: v})
}

// aboutWhom chooses the entries about a key, or about an account and its keys.
func (x *exchange) aboutWhom(q *petcat.AuditQuery, about string) (err error) {
	if q.Key, err = petcat.ParseKeyID(about); err == nil {
		return nil
	}
	a, err := x.Store.FindAccount(x.r.Context(), about)
	q.Account = a.ID
	return err
}

func settings(x *exchange) error {
	return x.render("settings", view{Title: "Settings", Section: "settings", Data: x.Settings})
}

func nodes(x *exchange) error {
	return x.render("nodes", view{Title: "Nodes", Section: "nodes", Data: map[string]any{"Nodes": x.Nodes(), "Self": x.Node}})
}

func operators(x *exchange) error {
	var all []petcat.Operator
	err := x.Store.EachOperator(x.r.Context(), func(o petcat.Operator) error {
		all = append(all, o)
		return nil
	})
	if err != nil {
		return err
	}
	return x.render("operators", view{Title: "Operators", Section: "operators", Data: all})
}
