package main

import (
	"fmt"
	"strconv"

	"petcat"
)

// accountJSON is an account as --json prints it.
type accountJSON struct {
	ID        string      `json:"id"`
	Name      string      `json:"name"`
	State     string      `json:"state"` // open or closed
	Plan      petcat.Plan `json:"plan"`
	PerMinute int64       `json:"per_minute"`
	PerDay    int64       `json:"per_day"`
	CreatedAt string      `json:"created_at"`
	ClosedAt  *string     `json:"closed_at"`
}

func accountDocument(a petcat.Account) accountJSON {
	return accountJSON{
		ID: a.ID.String(), Name: a.Name, State: accountState(a), Plan: a.Plan,
		PerMinute: a.Quota.PerMinute, PerDay: a.Quota.PerDay,
		CreatedAt: timestamp(a.CreatedAt), ClosedAt: nullableTime(a.ClosedAt),
	}
}

func accountState(a petcat.Account) string {
	if a.Closed() {
		return "closed"
	}
	return "open"
}

// accountTitle returns the name and id of an account, as messages show it.
func accountTitle(a petcat.Account) string { return fmt.Sprintf("%s (%s)", a.Name, a.ID) }

func (p *program) printAccount(a petcat.Account) error {
	return p.printColumns([][]string{
		{"id", a.ID.String()},
		{"name", a.Name},
		{"state", accountState(a)},
		{"plan", string(a.Plan)},
		{"per minute", strconv.FormatInt(a.Quota.PerMinute, 10)},
		{"per day", strconv.FormatInt(a.Quota.PerDay, 10)},
		{"created", timestamp(a.CreatedAt)},
		{"closed", timestampOr(a.ClosedAt, "-")},
	})
}
