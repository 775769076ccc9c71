package console

import (
	"slices"

	"petcat"
)

// auditView is a page of the audit log, the newest entry first.
type auditView struct {
	Actor, About string
	Entries      []entryView
	Paged        bool
	Next         *entryView
}

// entryView is an entry with the path of the page about its subject, "" without one.
type entryView struct {
	petcat.AuditEntry

	Path string
}

func audit(x *exchange) error {
	v := auditView{Actor: x.value("actor"), About: x.value("about")}
	q := petcat.AuditQuery{Actor: petcat.Actor(v.Actor), Before: id(x.value("before")), Newest: pageSize + 1}
	v.Paged = q.Before != 0
	page := func(x *exchange) error {
		return x.render("audit", view{Title: "Audit log", Section: "audit", Data: v})
	}
	if v.About != "" {
		if err := x.aboutWhom(&q, v.About); petcat.CodeOf(err) == petcat.CodeNotFound {
			return x.again(petcat.Errorf(petcat.CodeInvalidField, "%s", petcat.Public(err).Message).In("about"), page)
		} else if err != nil {
			return err
		}
	}
	err := x.Store.EachAuditEntry(x.r.Context(), q, func(e petcat.AuditEntry) error {
		v.Entries = append(v.Entries, entryView{e, pathOf(e.Subject)})
		return nil
	})
	if err != nil {
		return err
	}
	slices.Reverse(v.Entries)
	v.Entries, v.Next = cut(v.Entries)
	return page(x)
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
