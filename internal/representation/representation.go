// Package representation defines the JSON form of domain values, for the --json flag of commands and for
// the management API. Commands also print them as text.
package representation

import (
	"cmp"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/petcat-api/petcat"
)

// Record is a JSON object with ordered members. The first one identifies it.
type Record []Member

// Member is a member of a record: see [KV].
type Member struct {
	Name  string
	Value any
}

// KV returns a member. A zero time becomes null, other times whole seconds (RFC 3339, UTC), and
// a [fmt.Stringer] its text.
func KV(name string, value any) Member { return Member{name, value} }

// Shown is a value whose text differs from its JSON.
type Shown struct {
	Value any
	Text  string
}

// OrNull returns a value, or nil (null in JSON) if it is zero.
func OrNull[T comparable](v T) any {
	if v == *new(T) {
		return nil
	}
	return v
}

// Plain returns the JSON form of a value.
func Plain(value any) any {
	switch v := value.(type) {
	case Shown:
		return Plain(v.Value)
	case time.Time:
		if v.IsZero() {
			return nil
		}
		return v.UTC().Format(time.RFC3339)
	case jsontext.Value: // also a Stringer
		return v
	case fmt.Stringer:
		return v.String()
	default:
		return v
	}
}

// MarshalJSONTo writes the members as a JSON object.
func (r Record) MarshalJSONTo(e *jsontext.Encoder) error {
	err := e.WriteToken(jsontext.BeginObject)
	for _, m := range r {
		err = errors.Join(err, e.WriteToken(jsontext.String(m.Name)), json.MarshalEncode(e, Plain(m.Value)))
	}
	return errors.Join(err, e.WriteToken(jsontext.EndObject))
}

// Of returns the record of a domain value, with its state at now. It returns other values
// unchanged.
func Of(value any, now time.Time) any {
	switch v := value.(type) {
	case petcat.Account:
		return Account(v)
	case petcat.Purge:
		return Purge(v)
	case petcat.ManagedCategory:
		return Category(v)
	case petcat.Key:
		return Key(v, now)
	case petcat.Operator:
		return Operator(v, now)
	case petcat.OperatorToken:
		return Token(v, now)
	case petcat.Ban:
		return Ban(v, now)
	case petcat.Plan:
		return Plan(v)
	case petcat.PlanRequest:
		return PlanRequest(v)
	case petcat.Node:
		return Node(v)
	case petcat.Rejection:
		return Rejection(v)
	case petcat.AccountUsage:
		return AccountUsage(v)
	case petcat.AuditEntry:
		return AuditEntry(v)
	default:
		return ofEvents(value)
	}
}

// ofEvents is Of for events and webhooks.
func ofEvents(value any) any {
	switch v := value.(type) {
	case petcat.Event:
		return Event(v)
	case petcat.Webhook:
		return Webhook(v)
	case petcat.Delivery:
		return Delivery(v)
	default:
		return value
	}
}

// Account returns the record of an account.
func Account(a petcat.Account) Record {
	return Record{
		{"id", a.ID}, {"name", a.Name}, {"state", a.State()},
		{"plan", a.Plan}, {"per_minute", a.Quota.PerMinute}, {"per_day", a.Quota.PerDay},
		{"max_categories", a.Storage.Categories}, {"max_bytes", a.Storage.Bytes},
		{"external_id", OrNull(a.ExternalID)}, {"created_at", a.CreatedAt}, {"closed_at", a.ClosedAt},
	}
}

// Purge returns the record of a purge of an account.
func Purge(p petcat.Purge) Record {
	return Record{
		{"account", p.Account},
		{"categories", p.Categories},
		{"pets", p.Pets},
		{"orders", p.Orders},
	}
}

// Category returns the record of a category for operators.
func Category(c petcat.ManagedCategory) Record {
	return Record{
		{"id", c.ID},
		{"name", c.Name},
		{"description", text(c.Description)},
		{"account", OrNull(c.Account)},
		{"created_at", c.CreatedAt},
	}
}

// text returns a text that may be missing, as null.
func text(s *string) any {
	if s == nil {
		return nil
	}
	return *s
}

// Key returns the record of a key, without its secret, and with its state at now.
func Key(k petcat.Key, now time.Time) Record {
	return Record{
		{"id", k.ID}, {"account", k.Account}, {"label", k.Label}, {"hint", Shown{k.Hint, "…" + k.Hint}},
		{"state", k.State(now)}, {"read_only", k.ReadOnly},
		{"networks", Shown{append([]string{}, k.Networks.List()...), cmp.Or(string(k.Networks), "any")}},
		{"created_at", k.CreatedAt}, {"expires_at", k.ExpiresAt},
		{"disabled_at", k.DisabledAt}, {"revoked_at", k.RevokedAt}, {"leaked_at", k.LeakedAt},
		{"successor", OrNull(k.Successor)}, {"last_used_at", k.UsedAt},
	}
}

// Operator returns the record of an operator at now.
func Operator(o petcat.Operator, now time.Time) Record {
	if !now.Before(o.LinkExpiresAt) {
		o.LinkExpiresAt = time.Time{}
	}
	return Record{
		{"name", string(o.Name)},
		{"role", o.Role},
		{"created_at", o.CreatedAt},
		{"sessions", o.Sessions},
		{"link_expires_at", o.LinkExpiresAt},
	}
}

// Token returns the record of an operator's token, without its secret, and with its state at now.
func Token(t petcat.OperatorToken, now time.Time) Record {
	return Record{
		{"id", int64(t.ID)}, {"name", string(t.Name)}, {"role", t.Role}, {"hint", Shown{t.Hint, "…" + t.Hint}},
		{"state", t.State(now)},
		{"created_at", t.CreatedAt}, {"expires_at", t.ExpiresAt}, {"revoked_at", t.RevokedAt},
		{"last_used_at", t.UsedAt},
	}
}

// Ban returns the record of a ban, with its state at now.
func Ban(b petcat.Ban, now time.Time) Record {
	return Record{
		{"key", b.Key}, {"account", b.Account},
		{"state", b.State(now)}, {"level", b.Level}, {"early_retries", b.EarlyRetries},
		{"started_at", b.StartedAt}, {"ends_at", b.End()},
		{"lifted_at", b.LiftedAt}, {"lifted_by", OrNull(b.LiftedBy)},
	}
}

// Event returns the record of an event, as webhooks get it.
func Event(e petcat.Event) Record {
	return Record{
		{"id", int64(e.ID)},
		{"type", e.Type},
		{"timestamp", e.At},
		{"data", jsontext.Value(e.Data)},
	}
}

// Webhook returns the record of a webhook, without its secrets.
func Webhook(w petcat.Webhook) Record {
	types, text := []petcat.EventType{}, "all"
	if len(w.Types) > 0 {
		types, text = w.Types, strings.Trim(fmt.Sprint(w.Types), "[]")
	}
	next := w.NextAt
	if w.State() != "failing" {
		next = time.Time{}
	}
	return Record{
		{"id", int64(w.ID)}, {"url", w.URL}, {"types", Shown{types, text}}, {"state", w.State()},
		{"failure", OrNull(w.Failure)}, {"last_event", int64(w.Cursor)},
		{"attempts", w.Attempts}, {"next_attempt_at", next},
		{"created_at", w.CreatedAt}, {"disabled_at", w.DisabledAt}, {"overlap_ends_at", w.OverlapEnds},
	}
}

// Delivery returns the record of an attempt to deliver an event.
func Delivery(d petcat.Delivery) Record {
	return Record{
		{"event", int64(d.Event)}, {"type", d.Type}, {"attempt", d.Attempt}, {"at", d.At},
		{"status", OrNull(d.Status)}, {"response", d.Response},
	}
}

// Plan returns the record of a plan. Quotas that are agreed with each account are null; so is the
// storage, which has a default.
func Plan(p petcat.Plan) Record {
	q, published := p.Quota()
	var most petcat.Storage
	if published {
		most = p.Storage()
	}
	return Record{
		{"plan", p},
		{"per_minute", OrNull(q.PerMinute)},
		{"per_day", OrNull(q.PerDay)},
		{"max_categories", OrNull(most.Categories)},
		{"max_bytes", OrNull(most.Bytes)},
	}
}

// PlanRequest returns the record of a customer's request for another plan.
func PlanRequest(r petcat.PlanRequest) Record {
	return Record{
		{"id", r.ID}, {"account", r.Account}, {"plan", r.Plan}, {"note", r.Note}, {"state", r.State},
		{"created_at", r.CreatedAt}, {"decided_at", r.DecidedAt}, {"decided_by", OrNull(r.DecidedBy)},
	}
}

// Node returns the record of a running node.
func Node(n petcat.Node) Record {
	return Record{
		{"label", n.Label}, {"version", n.Version},
		{"state", n.State}, {"since", n.Since}, {"drained", n.Drained},
	}
}

// LogLevel returns the record of the log level that all nodes use until a time, with nulls if that has
// passed: then each node uses its own.
func LogLevel(level slog.Level, until, now time.Time) Record {
	if !now.Before(until) {
		return Record{{"level", nil}, {"until", nil}}
	}
	return Record{{"level", strings.ToLower(level.String())}, {"until", until}}
}

// Rejection returns the record of rejected or failed requests.
func Rejection(r petcat.Rejection) Record {
	return Record{
		{"key", r.Key}, {"operation", OrNull(r.Operation)},
		{"status", r.Status}, {"code", r.Code}, {"count", r.Count},
		{"first_at", r.First}, {"last_at", r.Last}, {"request_id", r.RequestID},
		{"minute_quota", quotaUsage(r.Minute)}, {"daily_quota", quotaUsage(r.Day)}, {"until", r.Until},
	}
}

// quotaUsage returns the used part of a quota, nil if it is unknown.
func quotaUsage(s petcat.QuotaUsage) any {
	if s.Limit == 0 {
		return nil
	}
	return Shown{Record{{"used", s.Used}, {"limit", s.Limit}}, fmt.Sprintf("%d of %d", s.Used, s.Limit)}
}

// AuditEntry returns the record of an audit log entry. Its time has the precision of the hash.
func AuditEntry(e petcat.AuditEntry) Record {
	detail := any(e.Detail)
	if value := jsontext.Value(e.Detail); value.IsValid() { // false only if the entry was altered
		detail = value
	}
	return Record{
		{"sequence", e.Sequence}, {"at", e.At.UTC().Format("2006-01-02T15:04:05.000Z07:00")},
		{"actor", e.Actor}, {"action", e.Action}, {"subject", e.Subject}, {"detail", detail},
		{"hash", hex.EncodeToString(e.Hash[:])},
	}
}

// AuditReport returns the record of a check of the audit log with a number of entries.
func AuditReport(entries int64, head petcat.AuditHead) Record {
	return Record{
		{"entries", entries},
		{"head", head},
		{"last_sequence", head.Sequence},
		{"last_hash", hex.EncodeToString(head.Hash[:])},
	}
}

// Counts returns the members of usage counts, which have the names of the CSV columns.
func Counts(c petcat.UsageCounts) Record {
	return Record{
		{"requests", c.Requests},
		{"minute_rejected", c.MinuteRejected},
		{"day_rejected", c.DayRejected},
		{"ban_rejected", c.BanRejected},
		{"key_rejected", c.KeyRejected},
		{"failed", c.Failed},
		{"bytes", c.Bytes},
	}
}

// Period returns the record of a period of a usage history.
func Period(p petcat.UsagePeriod) Record {
	r := append(Record{{"begin", p.Begin}}, Counts(p.UsageCounts)...)
	return append(r, KV("incomplete", p.Incomplete))
}

// UsagePart returns the record of the usage of a key or an operation in a period.
func UsagePart(p petcat.UsagePart) Record {
	return append(Record{{"begin", p.Begin}}, UsageDetail(p.UsageDetail)...)
}

// UsageDetail returns the record of the usage of a key or an operation.
func UsageDetail(d petcat.UsageDetail) Record {
	return Record{
		{"key", OrNull(d.Key)},
		{"operation", OrNull(d.Operation)},
		{"requests", d.Requests},
		{"rejected", d.Rejected},
		{"failed", d.Failed},
	}
}

// AccountUsage returns the record of an account's total usage.
func AccountUsage(u petcat.AccountUsage) Record {
	return append(Record{{"account", u.Account}, {"name", u.Name}}, Counts(u.UsageCounts)...)
}

// Usage returns the record of a usage history, with its total. account is nil for all accounts. parts are
// the usage by the query's group, if it has one.
func Usage(account any, q petcat.UsageQuery, h petcat.UsageHistory, parts []petcat.UsagePart) Record {
	var total petcat.UsageCounts
	periods, gaps := make([]Record, len(h.Periods)), make([]Record, len(h.Gaps))
	for i, p := range h.Periods {
		total.Add(p.UsageCounts)
		periods[i] = Period(p)
	}
	for i, g := range h.Gaps {
		gaps[i] = Record{{"node", g.Node}, {"from", g.From}, {"until", g.Until}}
	}
	r := Record{
		{"account", account}, {"from", q.From}, {"to", q.To},
		{"periods", periods}, {"total", Counts(total)}, {"gaps", gaps},
	}
	if q.Group == petcat.Ungrouped {
		return r
	}
	detail := make([]Record, len(parts))
	for i, p := range parts {
		detail[i] = UsagePart(p)
	}
	return append(r, KV("detail", detail))
}
