package console

import (
	"crypto/rand"
	"slices"
	"strings"
	"time"

	"petcat"
	"petcat/internal/config"
	"petcat/internal/pages"
)

// auditView is a page of the audit log, the newest entry first.
type auditView struct {
	Actor, About string
	Entries      []entryView
	Paged        bool
	Next         *entryView
}

// entryView is an entry with the path of its subject's page, "" without one.
type entryView struct {
	petcat.AuditEntry

	Path string
}

func audit(x *exchange) error {
	v := auditView{Actor: x.Value("actor"), About: x.Value("about")}
	q := petcat.AuditQuery{Actor: petcat.Actor(v.Actor), Before: id(x.Value("before")), Newest: pages.Size + 1}
	v.Paged = q.Before != 0
	page := func() error {
		return x.Render("audit", pages.View{Title: "Audit log", Section: "audit", Data: v})
	}
	if v.About != "" {
		if err := x.selectSubject(&q, v.About); petcat.CodeOf(err) == petcat.CodeNotFound {
			return x.Again(petcat.Errorf(petcat.CodeInvalidField, "%s", petcat.Public(err).Message), "about", page)
		} else if err != nil {
			return err
		}
	}
	err := x.Store.EachAuditEntry(x.R.Context(), q, func(e petcat.AuditEntry) error {
		v.Entries = append(v.Entries, entryView{e, pathOf(e.Subject)})
		return nil
	})
	if err != nil {
		return err
	}
	slices.Reverse(v.Entries)
	v.Entries, v.Next = pages.Cut(v.Entries)
	return page()
}

// pathOf returns the path of the page about the subject of an audit entry, "" without one.
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

// selectSubject limits a query to the entries about a key, or about an account and its keys.
func (x *exchange) selectSubject(q *petcat.AuditQuery, about string) (err error) {
	if q.Key, err = petcat.ParseKeyID(about); err == nil {
		return nil
	}
	a, err := x.Store.FindAccount(x.R.Context(), about)
	q.Account = a.ID
	return err
}

func settings(x *exchange) error {
	return x.Render("settings", pages.View{Title: "Settings", Section: "settings", Data: x.Settings})
}

func nodes(x *exchange) error {
	return x.Render("nodes", pages.View{Title: "Nodes", Section: "nodes", Data: map[string]any{"Nodes": x.Nodes(), "Self": x.Node}})
}

// operatorsView has the users of the console and of the management API.
type operatorsView struct {
	Operators []petcat.Operator
	Tokens    []petcat.OperatorToken
}

func operators(x *exchange) (err error) {
	var v operatorsView
	if v.Tokens, err = x.Store.Tokens(x.R.Context()); err != nil {
		return err
	}
	if v.Operators, err = x.Store.Operators(x.R.Context()); err != nil {
		return err
	}
	return x.Render("operators", pages.View{Title: "Operators", Section: "operators", Data: v})
}

// findOperator returns the name of the operator in the path.
func findOperator(x *exchange) (petcat.OperatorName, error) {
	return petcat.ParseOperatorName(x.R.PathValue("operator"))
}

func createOperator(x *exchange) error {
	name, err := petcat.ParseOperatorName(x.Value("name"))
	if err != nil {
		return err
	}
	role, err := petcat.ParseRole(x.Value("role"))
	if err != nil {
		return err
	}
	token, err := petcat.GenerateToken(rand.Reader)
	if err != nil {
		return err
	}
	by, err := x.Author()
	if err != nil {
		return err
	}
	made, err := x.Store.CreateOperator(x.R.Context(), by, name, role, token.Hash)
	if err != nil {
		return err
	}
	if made.Replayed {
		return x.GoTo("operators", "repeated")
	}
	return x.showLink(name, made.Value.LinkEndsAt, token.Secret)
}

func linkOperator(x *exchange, name petcat.OperatorName) error {
	token, err := petcat.GenerateToken(rand.Reader)
	if err != nil {
		return err
	}
	by, err := x.Author()
	if err != nil {
		return err
	}
	made, err := x.Store.CreateLink(x.R.Context(), by, petcat.Subject{Operator: name}, token.Hash)
	if err != nil {
		return err
	}
	if made.Replayed {
		return x.GoTo("operators", "repeated")
	}
	return x.showLink(name, made.Value.EndsAt, token.Secret)
}

// showLink shows the link of an operator once.
func (x *exchange) showLink(name petcat.OperatorName, end time.Time, secret petcat.Secret) error {
	return x.Render("new-link", pages.View{
		Title: "Link of " + string(name), Section: "operators",
		Data: map[string]any{"Of": name, "EndsAt": end, "Link": SignInLink(x.URL, secret)},
	})
}

func confirmRemove(x *exchange, name petcat.OperatorName) error {
	return x.Confirm("operators", pages.Confirmation{
		Question:    "Remove the operator " + string(name) + "?",
		Consequence: "Their sessions and link end at once. The audit log keeps their entries.",
		Action:      "operators/" + string(name) + "/remove", Button: "Remove the operator", Back: "operators",
	})
}

func removeOperator(x *exchange, name petcat.OperatorName) error {
	by, err := x.Author()
	if err != nil {
		return err
	}
	removed, err := x.Store.RemoveOperator(x.R.Context(), by, name)
	if err != nil {
		return err
	}
	return x.Made("operators", removed.Replayed, "removed")
}

// backupsView has the last scheduled backup and the schedule.
type backupsView struct {
	Last     any
	Settings []config.Value
}

func backups(x *exchange) (err error) {
	var v backupsView
	if v.Last, err = x.LastBackup(x.R.Context()); err != nil {
		return err
	}
	for _, s := range x.Settings {
		if strings.HasPrefix(s.Flag, "--backup") {
			v.Settings = append(v.Settings, s)
		}
	}
	return x.Render("backups", pages.View{Title: "Backups", Section: "backups", Data: v})
}
