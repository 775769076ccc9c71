package backup

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"petcat"
)

// maxLast is the highest last number that is believed: ids stay below 2^53, which
// is what every JSON number type can hold, with as much room again to go on.
const maxLast = 1 << 52

// Checker is a [Sink] that looks for what a store never writes: numbers that would
// be given out again, rows that refer to nothing, an audit log that was altered.
// The zero value is ready. It remembers what rows may refer to as ranges of ids, which
// have few gaps if any.
type Checker struct {
	header     Header
	rows       map[Kind]int64
	order      order
	accounts   idSet
	keys       idSet
	categories idSet
	pets       idSet
	log        petcat.AuditCheck
	findings   Findings
}

// Begin implements [Sink].
func (c *Checker) Begin(h Header) error {
	c.header, c.rows = h, make(map[Kind]int64)
	_, err := petcat.ParseEnvironment(string(h.Environment))
	c.assert(err == nil, func() string { return fmt.Sprintf("the environment is %.20q", h.Environment) })
	for _, last := range []struct {
		name string
		n    int64
	}{
		{"category", int64(h.LastCategory)},
		{"account", int64(h.LastAccount)},
		{"key", int64(h.LastKey)},
		{"pet", int64(h.LastPet)},
		{"order", int64(h.LastOrder)},
		{"revision", int64(h.Revision)},
		{"revision of access", int64(h.AccessRevision)},
	} {
		c.assert(last.n >= 0 && last.n <= maxLast, func() string {
			return fmt.Sprintf("the number of the last %s is %d: no number is left after it", last.name, last.n)
		})
	}
	c.assert(h.AccessRevision <= h.Revision, func() string {
		return fmt.Sprintf("the last revision of access, %d, is behind the last revision of all, %d", h.AccessRevision, h.Revision)
	})
	return nil
}

// Row implements [Sink].
func (c *Checker) Row(k Kind, v []any) error {
	c.rows[k]++
	if fault := c.order.next(k, v); fault != "" {
		c.findings.Add(fault)
	}
	c.texts(k, v)
	switch k {
	case Accounts:
		c.account(v)
	case Keys:
		c.key(v)
	case Bans:
		c.ban(v)
	case Categories:
		c.category(v)
	case IdempotencyKeys:
		c.idempotency(v)
	case DayCounts:
		c.day(v)
	case AuditEntries:
		c.audit(v)
	case Pets:
		c.pet(v)
	case Orders:
		c.storeOrder(v)
	case UsageHours, UsageDays:
		c.usage(k, v)
	case KeyUses:
		c.assert(c.keys.has(v[0].(int64)), func() string { return fmt.Sprintf("%s was used, and does not exist", petcat.KeyID(v[0].(int64))) })
	case UsageNodes: // nothing of them refers to anything else
	}
	return nil
}

// Header returns what the source said about itself.
func (c *Checker) Header() Header { return c.header }

// Findings returns one sentence for each fault, none when all is well. All rows
// must have been told.
func (c *Checker) Findings() []string {
	all := c.found()
	for _, k := range Kinds() {
		if c.rows[k] != c.header.Rows[k] {
			all.Add(fmt.Sprintf("there are %d %s where %d were counted", c.rows[k], k, c.header.Rows[k]))
		}
	}
	return all.All()
}

// found returns what was found so far.
func (c *Checker) found() Findings {
	all := c.findings
	all.AddAudit(&c.log)
	return all
}

// assert adds a finding unless a condition holds. The finding's text is a function,
// because almost all of millions of rows need none.
func (c *Checker) assert(right bool, sentence func() string) {
	if !right {
		c.findings.Add(sentence())
	}
}

// texts checks that every store can keep a row's texts.
func (c *Checker) texts(k Kind, v []any) {
	for i := range v {
		text, ok := v[i].(string)
		if ok && (!utf8.ValidString(text) || strings.Contains(text, "\x00")) {
			c.findings.Add(fmt.Sprintf("%s of the %s %s is not a text in UTF-8", k.Columns()[i].Name, k, keyText(c.order.last)))
		}
	}
}

func messageOf(err error) string {
	if e, ok := errors.AsType[*petcat.Error](err); ok {
		return e.Message
	}
	return ""
}

func (c *Checker) accessRevision(what fmt.Stringer, revision int64) {
	c.assert(revision > 0 && revision <= int64(c.header.AccessRevision), func() string {
		return fmt.Sprintf("%s has the revision %d, and the last one of its kind is %d: servers would miss its next change", what, revision, c.header.AccessRevision)
	})
}

func (c *Checker) account(v []any) {
	id := petcat.AccountID(v[0].(int64))
	c.accounts.add(int64(id))
	c.assert(id > 0 && id <= c.header.LastAccount, func() string {
		return fmt.Sprintf("%s is behind the last id given out, %s, which would be given out again", id, c.header.LastAccount)
	})
	quota := petcat.Quota{PerMinute: v[3].(int64), PerDay: v[4].(int64)}
	plan := petcat.Plan(v[2].(string))
	published, fixed := plan.Quota()
	_, err := petcat.ParseSubscription(string(plan), quota.PerMinute, quota.PerDay)
	c.assert(fixed && quota == published || plan == petcat.Enterprise && err == nil, func() string {
		return fmt.Sprintf("%s is on the plan %.20q with the quotas %d and %d, which do not fit", id, plan, quota.PerMinute, quota.PerDay)
	})
	_, err = petcat.ParseNewAccount(v[1].(string), petcat.Subscription{})
	c.assert(err == nil, func() string { return fmt.Sprintf("%s breaks a rule: %s", id, messageOf(err)) })
	c.accessRevision(id, v[7].(int64))
}

func (c *Checker) key(v []any) {
	id, account := petcat.KeyID(v[0].(int64)), petcat.AccountID(v[1].(int64))
	c.keys.add(int64(id))
	c.assert(id > 0 && id <= c.header.LastKey, func() string {
		return fmt.Sprintf("%s is behind the last id given out, %s, which would be given out again", id, c.header.LastKey)
	})
	c.assert(c.accounts.has(int64(account)), func() string { return fmt.Sprintf("%s belongs to %s, which does not exist", id, account) })
	c.assert(len(v[2].([]byte)) == sha256.Size, func() string { return fmt.Sprintf("%s has a hash of %d bytes", id, len(v[2].([]byte))) })
	c.accessRevision(id, v[10].(int64))
}

func (c *Checker) ban(v []any) {
	key, account := petcat.KeyID(v[0].(int64)), petcat.AccountID(v[1].(int64))
	c.assert(c.keys.has(int64(key)), func() string { return fmt.Sprintf("a ban is of %s, which does not exist", key) })
	c.assert(c.accounts.has(int64(account)), func() string { return fmt.Sprintf("the ban of %s names %s, which does not exist", key, account) })
	c.assert(v[2].(int64) >= 1 && v[2].(int64) <= int64(petcat.MaxBanLevel), func() string { return fmt.Sprintf("the ban of %s has the level %d", key, v[2]) })
	c.accessRevision(key, v[9].(int64))
}

func (c *Checker) day(v []any) {
	account := petcat.AccountID(v[1].(int64))
	c.assert(c.accounts.has(int64(account)), func() string { return fmt.Sprintf("day %d is counted for %s, which does not exist", v[0], account) })
	c.assert(v[2].(int64) >= 0, func() string { return fmt.Sprintf("the count of %s on day %d is %d", account, v[0], v[2]) })
}

func (c *Checker) usage(k Kind, v []any) {
	day, account := v[0], petcat.AccountID(v[1].(int64))
	c.assert(account == petcat.AllAccounts || c.accounts.has(int64(account)), func() string {
		return fmt.Sprintf("there is usage of %s in the period %d, and it does not exist", account, day)
	})
	for i, column := range k.Columns() {
		n, counted := v[i].(int64)
		c.assert(!counted || i < 2 || n >= 0, func() string { return fmt.Sprintf("%s of %s in the period %d is %d", column.Name, account, day, n) })
	}
}

func (c *Checker) audit(v []any) {
	e := petcat.AuditEntry{
		Sequence: v[0].(int64), At: time.UnixMilli(v[1].(int64)).UTC(), Actor: petcat.Actor(v[2].(string)),
		Action: v[3].(string), Subject: v[4].(string), Detail: v[5].(string),
	}
	hash, _ := v[6].([]byte)
	copy(e.Hash[:], hash)
	c.log.Add(e)
}

// idSet is a set of ids that come in ascending order; others are left out.
type idSet struct{ ranges [][2]int64 }

// maxRanges bounds the memory of an idSet to 16 MB. With more gaps than that, the
// later ones count as filled: only the database sees what refers to them.
const maxRanges = 1 << 20

func (s *idSet) add(id int64) {
	n := len(s.ranges)
	if n == 0 {
		s.ranges = append(s.ranges, [2]int64{id, id})
		return
	}
	switch last := &s.ranges[n-1]; {
	case id <= last[1]:
	case id == last[1]+1, n == maxRanges:
		last[1] = id
	default:
		s.ranges = append(s.ranges, [2]int64{id, id})
	}
}

func (s *idSet) has(id int64) bool {
	low, high := 0, len(s.ranges)
	for low < high {
		middle := (low + high) / 2
		switch r := s.ranges[middle]; {
		case id < r[0]:
			high = middle
		case id > r[1]:
			low = middle + 1
		default:
			return true
		}
	}
	return false
}
