package petcat

import (
	"context"
	"slices"
	"strings"
	"time"
)

// EventID numbers the events of a deployment in commit order: from 1, never reused. A reader that has
// seen every event up to an id and then reads the events after it does not miss one.
type EventID int64

// ParseEventID parses the id of an event, or 0, which is before all. It returns an [Error] with
// [CodeInvalidField].
func ParseEventID(s string) (EventID, error) {
	n, isNumber := ParseNumber(s)
	if !isNumber {
		return 0, Errorf(CodeInvalidField, "the id of an event is a number such as 17, without leading zeros").In("after")
	}
	return EventID(n), nil
}

// EventType is the kind of an event. Types are never renamed; readers must expect new ones.
type EventType string

// The event types.
const (
	EventQuotaWarning      EventType = "quota.warning"   // 80% or 95% of a daily quota is used
	EventQuotaExhausted    EventType = "quota.exhausted" // a daily quota is used up
	EventKeyExpiring       EventType = "key.expiring"    // 14, 3 and 1 days before
	EventKeyCreated        EventType = "key.created"
	EventKeyRevoked        EventType = "key.revoked"
	EventKeyLeaked         EventType = "key.leaked" // its secret was reported, and it is disabled
	EventKeyBanned         EventType = "key.banned"
	EventPlanRequested     EventType = "plan.requested"
	EventPlanChanged       EventType = "plan.changed"
	EventBackupFailed      EventType = "backup.failed"
	EventCategoriesChanged EventType = "categories.changed" // at most once per minute
	// EventWebhookTest is only delivered to the webhook that an operator tests.
	EventWebhookTest EventType = "webhook.test"
)

// EventTypes returns the types that a webhook can select.
func EventTypes() []EventType {
	return []EventType{
		EventQuotaWarning,
		EventQuotaExhausted,
		EventKeyExpiring,
		EventKeyCreated,
		EventKeyRevoked,
		EventKeyLeaked,
		EventKeyBanned,
		EventPlanRequested,
		EventPlanChanged,
		EventBackupFailed,
		EventCategoriesChanged,
	}
}

// ParseEventType returns an [Error] with [CodeInvalidField] for a type that webhooks cannot select.
func ParseEventType(s string) (EventType, error) {
	if !slices.Contains(EventTypes(), EventType(s)) {
		return "", Errorf(CodeInvalidField, "types must be among %s (got %.64q)", eventTypeNames(), s).In("types")
	}
	return EventType(s), nil
}

// eventTypeNames returns the types for a message.
func eventTypeNames() string {
	var names []string
	for _, t := range EventTypes() {
		names = append(names, string(t))
	}
	return strings.Join(names, ", ")
}

// EventRetention is the time for which events are kept.
const EventRetention = 30 * 24 * time.Hour

// Event is a notification for operators' programs.
type Event struct {
	ID   EventID
	Type EventType
	At   time.Time
	Data string // a JSON object; never a secret
	// Webhook is the webhook that an [EventWebhookTest] is for, 0 for other events.
	Webhook WebhookID
}

// EventQuery selects a page of events, oldest first.
type EventQuery struct {
	After EventID // only higher ids
	Limit int     // from 1 to [MaxPage]
}

// QuotaMark is a used share of an account's daily quota at which operators are notified.
type QuotaMark struct {
	Account AccountID
	Day     int64 // index
	Percent int64 // see [PassedMark]
	Used    int64 // when the mark was noted
	Limit   int64
}

// PassedMark returns the highest mark, in percent of a daily quota, that its use has passed: 80, 95,
// 100, or 0 for none.
func PassedMark(used, limit int64) int64 {
	for _, percent := range []int64{100, 95, 80} {
		if used*100 >= limit*percent {
			return percent
		}
	}
	return 0
}

// KeyWarnings returns the times before a key's expiry at which operators are notified, the last one
// first.
func KeyWarnings() []time.Duration {
	const day = 24 * time.Hour
	return []time.Duration{day, 3 * day, 14 * day}
}

// EventStore keeps events. A change's events are written in its transaction. The methods that note
// something may be called repeatedly and on several nodes: each event is written once.
type EventStore interface {
	// Events returns a page of events. It returns an [Error] with [CodeCursorExpired] for a reader that has
	// later events than the store, which was restored.
	Events(ctx context.Context, q EventQuery) ([]Event, error)
	// NewestEvent returns the id of the newest event, which may be deleted since, 0 if there was none.
	NewestEvent(ctx context.Context) (EventID, error)
	// NoteQuotaMark writes [EventQuotaWarning] or [EventQuotaExhausted], once for an account, day and mark.
	NoteQuotaMark(ctx context.Context, m QuotaMark) error
	// NoteExpiringKeys writes [EventKeyExpiring] for the keys that have come close to their expiry. See
	// [KeyWarnings].
	NoteExpiringKeys(ctx context.Context) error
	// NoteCategoryChanges writes [EventCategoriesChanged] if categories changed since the last one, which
	// is older than a minute. cursor returns the change feed's cursor after a revision.
	NoteCategoryChanges(ctx context.Context, cursor func(Revision) string) error
	// NoteFailedBackup writes [EventBackupFailed] for a machine.
	NoteFailedBackup(ctx context.Context, host string) error
}
