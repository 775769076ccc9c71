package petcat

import (
	"context"
	"strconv"
	"strings"
	"time"

	"golang.org/x/text/unicode/norm"
)

// AccountID identifies an account: from 1, never reused.
type AccountID int64

const accountIDPrefix = "acct_"

// String returns the form that operators see, such as acct_12.
func (id AccountID) String() string { return accountIDPrefix + strconv.FormatInt(int64(id), 10) }

// Actor returns the account's customer as an actor.
func (id AccountID) Actor() Actor { return Actor("customer " + id.String()) }

// Account is one consumer of the API: a person, a team or an application. Its
// counts are shared by its keys.
type Account struct {
	ID      AccountID
	Name    string
	Plan    Plan
	Quota   Quota
	Storage Storage // the most that it may store
	// ExternalID is the operator's own identifier of the customer, or "".
	ExternalID ExternalID
	CreatedAt  time.Time
	// ClosedAt is zero while the account is open. Closing is permanent, and revokes all
	// its keys.
	ClosedAt time.Time
}

// Closed reports whether the account was closed.
func (a Account) Closed() bool { return !a.ClosedAt.IsZero() }

// State returns open or closed.
func (a Account) State() string {
	if a.Closed() {
		return "closed"
	}
	return "open"
}

// MaxAccountName is the maximum length of an account name, in characters.
const MaxAccountName = 200

// AccountName is a valid name of an account. Only [ParseAccountName] makes one.
type AccountName string

// ParseAccountName checks a name, and returns it in the form of [NormalizeName]. It returns an [Error]
// with [CodeInvalidField].
func ParseAccountName(s string) (AccountName, error) {
	rule := textRule{
		field:    "name",
		called:   "the account's name",
		maxRunes: MaxAccountName,
		distinct: true,
	}
	if err := rule.check(s); err != nil {
		return "", err
	}
	s = NormalizeName(s)
	// If a name could be an id, a later command could act on the wrong account.
	digits, prefixed := strings.CutPrefix(strings.ToLower(s), accountIDPrefix)
	if prefixed && strings.Trim(digits, "+-0123456789") == "" {
		return "", Errorf(CodeInvalidField, "the account's name must not look like an id (%q)", s)
	}
	return AccountName(s), nil
}

// ExternalID is the operator's own identifier of a customer, for example in a billing system. Only
// [ParseExternalID] makes one.
type ExternalID string

// MaxExternalID is the maximum length of an external id, in characters.
const MaxExternalID = 100

// ParseExternalID checks an external id; "" is none. It returns an [Error] with [CodeInvalidField].
func ParseExternalID(s string) (ExternalID, error) {
	visible := func(c rune) bool { return c > ' ' && c <= '~' }
	if len(s) > MaxExternalID || strings.IndexFunc(s, func(c rune) bool { return !visible(c) }) >= 0 {
		return "", Errorf(CodeInvalidField,
			"the external id must have at most %d visible ASCII characters, without spaces", MaxExternalID).In("external_id")
	}
	return ExternalID(s), nil
}

// NewAccount is an account to create.
type NewAccount struct {
	Name         AccountName
	Subscription Subscription
	ExternalID   ExternalID
}

// NormalizeName returns a name of an account in Unicode's form NFC, in which names are stored and
// compared: é is the same whether it is typed as one character or as two.
func NormalizeName(s string) string { return norm.NFC.String(s) }

// ParseAccountRef reads the name or id of an account that an operator typed. isID reports
// whether it is an id such as acct_12, in any case; anything else is a name.
func ParseAccountRef(s string) (id AccountID, isID bool) {
	n, isID := cutID(accountIDPrefix, s)
	return AccountID(n), isID
}

// AccountQuery selects a page of accounts, ordered by name, ignoring ASCII case.
type AccountQuery struct {
	// Prefix is the beginning of the name, ignoring ASCII case; "": any.
	Prefix string
	Plan   Plan // "": any
	// ExternalID selects the account with it, and closed ones that had it; "": any.
	ExternalID ExternalID
	// After is the last account of the previous page; zero for the first page.
	After AccountCursor
	Limit int // from 1 to [MaxPage]
}

// AccountCursor is a place in the order of accounts.
type AccountCursor struct {
	Name string
	ID   AccountID
}

// AccountSummary is an account with the figures that operators compare.
type AccountSummary struct {
	Account

	Keys            int64     // active ones
	Bans            int64     // active ones
	UsedAt          time.Time // last use of any of its keys; zero: never
	Today, Rejected int64     // requests that were allowed today, and rejected
}

// AccountEdit changes an account. Nil leaves a value as it is.
type AccountEdit struct {
	Name       *AccountName
	Plan       *PlanEdit
	ExternalID *ExternalID
}

// PlanEdit changes an account's subscription. Fields that are nil keep their value, but a different plan
// starts with its own numbers.
type PlanEdit struct {
	Plan              *Plan
	PerMinute, PerDay *int64
	// MaxCategories and MaxBytes are the fields of [Storage].
	MaxCategories, MaxBytes *int64
}

// Apply returns the account after the change, or an [Error] with [CodeInvalidField].
func (e AccountEdit) Apply(a Account) (Account, error) {
	if e.Name != nil {
		a.Name = string(*e.Name)
	}
	if e.ExternalID != nil {
		a.ExternalID = *e.ExternalID
	}
	if e.Plan == nil {
		return a, nil
	}
	plan, quota, storage := a.Plan, Quota{}, Storage{}
	if e.Plan.Plan != nil {
		plan = *e.Plan.Plan
	}
	if plan == Enterprise && a.Plan == Enterprise {
		quota, storage = a.Quota, a.Storage
	}
	for _, number := range []struct {
		edited *int64
		to     *int64
	}{
		{e.Plan.PerMinute, &quota.PerMinute},
		{e.Plan.PerDay, &quota.PerDay},
		{e.Plan.MaxCategories, &storage.Categories},
		{e.Plan.MaxBytes, &storage.Bytes},
	} {
		if number.edited != nil {
			*number.to = *number.edited
		}
	}
	s, err := ParseSubscription(string(plan), quota, storage)
	if err != nil {
		return Account{}, err
	}
	a.Plan, a.Quota, a.Storage = s.Plan(), s.Quota(), s.Storage()
	return a, nil
}

// EditName returns an edit of an account's name.
func EditName(name AccountName) AccountEdit { return AccountEdit{Name: &name} }

// EditPlan returns an edit of an account's subscription.
func EditPlan(s Subscription) AccountEdit {
	plan, quota, storage := s.Plan(), s.Quota(), s.Storage()
	if plan != Enterprise {
		return AccountEdit{Plan: &PlanEdit{Plan: &plan}}
	}
	return AccountEdit{Plan: &PlanEdit{
		Plan:          &plan,
		PerMinute:     &quota.PerMinute,
		PerDay:        &quota.PerDay,
		MaxCategories: &storage.Categories,
		MaxBytes:      &storage.Bytes,
	}}
}

// AccountStore keeps accounts. Every change commits together with its audit
// entry, and reaches the servers as an [AccessChange].
type AccountStore interface {
	// CreateAccount returns an [Error] with [CodeConflict] if an open account
	// already has the name or the external id.
	CreateAccount(ctx context.Context, by Author, n NewAccount) (Result[Account], error)
	// FindAccount finds an account by id or name; open accounts take precedence. It
	// returns an [Error] with [CodeNotFound].
	FindAccount(ctx context.Context, ref string) (Account, error)
	// EachAccount calls fn for every account, by id ascending, closed ones
	// included, and stops at the first error that fn returns.
	EachAccount(ctx context.Context, fn func(Account) error) error
	// EditAccount changes an account immediately. Used quota stays used. It returns an [Error] with
	// [CodeConflict] if the account is closed, or if another open account has the name or the external id.
	EditAccount(ctx context.Context, by Author, id AccountID, e AccountEdit) (Result[Account], error)
	// CloseAccount closes an account permanently, revokes its keys, and declines its pending plan
	// request. It is idempotent.
	CloseAccount(ctx context.Context, by Author, id AccountID) (Result[Account], error)
	// PurgeAccount deletes the categories, pets and orders of an account, which may be closed, in
	// many short changes. It has one audit entry, from its beginning. After an error, repeat it to delete
	// the rest; with the same idempotency key, it returns the first call's result.
	PurgeAccount(ctx context.Context, by Author, id AccountID) (Result[Purge], error)
	// AccountPage returns a page of accounts. As in all lists, a page with fewer entries than
	// the limit is the last one.
	AccountPage(ctx context.Context, q AccountQuery) ([]Account, error)
	// AccountSummaries returns the accounts with these ids, in their order.
	AccountSummaries(ctx context.Context, ids []AccountID) ([]AccountSummary, error)
}
