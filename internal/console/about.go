package console

import (
	"slices"
	"strings"

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

// operatorsView is who may use the console and the management API.
type operatorsView struct {
	Operators []petcat.Operator
	Tokens    []petcat.OperatorToken
}

func operators(x *exchange) (err error) {
	var v operatorsView
	if v.Tokens, err = x.Store.Tokens(x.r.Context()); err != nil {
		return err
	}
	err = x.Store.EachOperator(x.r.Context(), func(o petcat.Operator) error {
		v.Operators = append(v.Operators, o)
		return nil
	})
	if err != nil {
		return err
	}
	return x.render("operators", view{Title: "Operators", Section: "operators", Data: v})
}

// findOperator returns the operator whom the path names.
func findOperator(x *exchange) (petcat.OperatorName, error) {
	return petcat.ParseOperatorName(x.r.PathValue("operator"))
}

func createOperator(x *exchange) error {
	name, err := petcat.ParseOperatorName(x.value("name"))
	if err != nil {
		return err
	}
	role, err := petcat.ParseRole(x.value("role"))
	if err != nil {
		return err
	}
	return x.newLink(name, func(link petcat.TokenHash) (petcat.Operator, error) {
		return x.Store.CreateOperator(x.r.Context(), x.actor(), name, role, link)
	})
}

func linkOperator(x *exchange, name petcat.OperatorName) error {
	return x.newLink(name, func(link petcat.TokenHash) (petcat.Operator, error) {
		return x.Store.LinkOperator(x.r.Context(), x.actor(), name, link)
	})
}

// newLink gives an operator a link, and shows it once.
func (x *exchange) newLink(name petcat.OperatorName, give func(link petcat.TokenHash) (petcat.Operator, error)) error {
	token, err := petcat.GenerateToken(x.Random)
	if err != nil {
		return err
	}
	o, err := give(token.Hash)
	if err != nil {
		return err
	}
	return x.render("new-link", view{Title: "Link of " + string(name), Section: "operators", Data: map[string]any{"Of": o, "Link": SignInLink(x.URL, token.Secret)}})
}

func confirmRemove(x *exchange, name petcat.OperatorName) error {
	return x.render("confirm", view{Title: "Remove " + string(name), Section: "operators", Data: confirmation{
		What:        "Remove the operator " + string(name) + "?",
		Consequence: "Their sessions and their link end at once. The audit log keeps what they did.",
		Action:      "operators/" + string(name) + "/remove", Button: "Remove the operator", Back: "operators",
	}})
}

func removeOperator(x *exchange, name petcat.OperatorName) error {
	return x.done(x.Store.RemoveOperator(x.r.Context(), x.actor(), name), "operators", "removed")
}

// backupsView is the last scheduled backup, and how they are made.
type backupsView struct {
	Last     Backup
	Settings []Setting
}

func backups(x *exchange) (err error) {
	var v backupsView
	if v.Last, err = x.LastBackup(x.r.Context()); err != nil {
		return err
	}
	for _, s := range x.Settings {
		if strings.HasPrefix(s.Flag, "--backup") {
			v.Settings = append(v.Settings, s)
		}
	}
	return x.render("backups", view{Title: "Backups", Section: "backups", Data: v})
}
