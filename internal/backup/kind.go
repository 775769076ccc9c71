package backup

import (
	"fmt"
	"slices"
)

// Kind is a kind of rows. The numbers are part of the format.
type Kind uint8

// The kinds, in the order in which they are told: what a row refers to comes
// before it.
const (
	Accounts Kind = iota + 1
	Keys
	Bans
	Categories
	IdempotencyKeys
	DayCounts
	AuditEntries
	Pets // since format 2, as all that follow
	Orders
	UsageNodes
	UsageHours
	UsageDays
	KeyUses
)

// Kinds returns the kinds in their order.
func Kinds() []Kind {
	return []Kind{Accounts, Keys, Bans, Categories, IdempotencyKeys, DayCounts, AuditEntries, Pets, Orders, UsageNodes, UsageHours, UsageDays, KeyUses}
}

// kindNames are how people and the header call the kinds.
var kindNames = [...]string{ //nolint:gochecknoglobals // a table that nobody changes
	Accounts: "accounts", Keys: "keys", Bans: "bans", Categories: "categories",
	IdempotencyKeys: "idempotency_keys", DayCounts: "day_counts", AuditEntries: "audit_entries",
	Pets: "pets", Orders: "orders",
	UsageNodes: "usage_nodes", UsageHours: "usage_hours", UsageDays: "usage_days", KeyUses: "key_uses",
}

// String returns the kind's name.
func (k Kind) String() string {
	if k == 0 || int(k) >= len(kindNames) {
		return fmt.Sprintf("kind %d", uint8(k))
	}
	return kindNames[k]
}

// MarshalText makes the kind's name the name of a member in JSON.
func (k Kind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// UnmarshalText reads a kind's name.
func (k *Kind) UnmarshalText(text []byte) error {
	i := slices.Index(kindNames[:], string(text))
	if i < 1 {
		return fmt.Errorf("there is no kind %q", text)
	}
	*k = Kind(i)
	return nil
}

// Type is what a column holds.
type Type uint8

// The types, with the Go types of their values.
const (
	Integer Type = iota + 1 // int64
	Text                    // string
	Bytes                   // []byte
	Boolean                 // bool
)

// Column is one value of a row.
type Column struct {
	Name string
	Type Type
	// Optional values may be nil.
	Optional bool
	// Since is the first format that has the column, if it is not the first of all. In
	// files of an earlier one the value is nil, or the type's zero value.
	Since int
}

// Columns returns what a row of the kind holds, in the order of the format.
// Moments are Unix milliseconds, days are counted from the epoch, a revision is
// that of the row's last change.
func (k Kind) Columns() []Column {
	integer := func(name string) Column { return Column{Name: name, Type: Integer} }
	moment := func(name string) Column { return Column{Name: name, Type: Integer, Optional: true} }
	text := func(name string) Column { return Column{Name: name, Type: Text} }
	bytes := func(name string) Column { return Column{Name: name, Type: Bytes} }
	switch k {
	case Accounts:
		return []Column{
			integer("id"), text("name"), text("plan"), integer("per_minute"), integer("per_day"),
			integer("created_at"), moment("closed_at"), integer("revision"),
		}
	case Keys:
		return []Column{
			integer("id"), integer("account_id"), bytes("hash"), text("label"), text("hint"), integer("created_at"),
			moment("expires_at"), moment("disabled_at"), moment("revoked_at"), integer("successor_id"), integer("revision"),
			{Name: "read_only", Type: Boolean, Since: 2},
		}
	case Bans:
		return []Column{
			integer("key_id"), integer("account_id"), integer("level"), integer("started_at"), integer("ends_at"),
			integer("early_retries"),
			{Name: "shadow", Type: Boolean},
			moment("lifted_at"), text("lifted_by"), integer("revision"),
		}
	case Categories:
		return []Column{
			integer("id"), text("name"),
			{Name: "description", Type: Text, Optional: true},
			integer("revision"), integer("account_id"), integer("created_at"),
		}
	case IdempotencyKeys: // category_id is the id of what was created: a category, a pet or an order
		return []Column{integer("account_id"), text("key"), bytes("fingerprint"), integer("category_id"), integer("created_at")}
	case DayCounts:
		return []Column{integer("day"), integer("account_id"), integer("count")}
	case AuditEntries:
		return []Column{
			integer("sequence"), integer("at"), text("actor"), text("action"), text("subject"), text("detail"), bytes("hash"),
		}
	case Pets:
		return []Column{integer("id"), text("name"), integer("category_id"), integer("account_id"), integer("created_at")}
	case Orders:
		return []Column{integer("id"), integer("account_id"), integer("pet_id"), integer("quantity"), integer("created_at")}
	case UsageNodes:
		return []Column{text("node"), integer("number"), integer("seen_at"), {Name: "ended", Type: Boolean}, moment("killed_at")}
	case UsageHours:
		return []Column{
			integer("hour"), integer("account_id"), integer("requests"), integer("minute_refused"), integer("day_refused"),
			integer("ban_refused"), integer("key_refused"), integer("failed"), integer("bytes"),
		}
	case UsageDays:
		return []Column{
			integer("day"), integer("account_id"), integer("requests"), integer("minute_refused"), integer("day_refused"),
			integer("ban_refused"), integer("key_refused"), integer("failed"), integer("bytes"),
		}
	case KeyUses:
		return []Column{integer("key_id"), integer("used_at")}
	default:
		return nil
	}
}
