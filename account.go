package petcat

import (
	"context"
	"strconv"
	"strings"
	"time"
)

// AccountID identifies an account: from 1, never reused.
type AccountID int64

const accountIDPrefix = "acct_"

// String returns the form that operators see, such as acct_12.
func (id AccountID) String() string { return accountIDPrefix + strconv.FormatInt(int64(id), 10) }

// Actor returns who uses the account's page as who changed something.
func (id AccountID) Actor() Actor { return Actor("customer " + id.String()) }

// Account is one consumer of the API: a person, a team or an application. Its
// counts are shared by its keys.
type Account struct {
	ID        AccountID
	Name      string
	Plan      Plan
	Quota     Quota
	CreatedAt time.Time
	// ClosedAt is zero while the account is open. Closing is permanent, and revokes all
	// its keys.
	ClosedAt time.Time
}

// Closed reports whether the account was closed.
func (a Account) Closed() bool { return !a.ClosedAt.IsZero() }

// MaxAccountName is the longest account name in characters.
const MaxAccountName = 200

// AccountName is a name that an account may have; [ParseAccountName] is the only way to one.
type AccountName string

// ParseAccountName checks a name. It returns an [Error] with [CodeInvalidField].
func ParseAccountName(s string) (AccountName, error) {
	if err := (textRule{field: "name", called: "the account's name", maxRunes: MaxAccountName}).check(s); err != nil {
		return "", err
	}
	// A name that reads as an id could make a later command act on another
	// account than the operator meant.
	if _, isID := ParseAccountRef(s); isID {
		return "", Errorf(CodeInvalidField, "the account's name must not look like an id (%q)", s)
	}
	return AccountName(s), nil
}

// ParseAccountRef reads the name or id of an account that an operator typed. isID reports
// whether it is an id such as acct_12; anything else is a name.
func ParseAccountRef(s string) (id AccountID, isID bool) {
	digits, found := strings.CutPrefix(s, accountIDPrefix)
	if !found {
		return 0, false
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	return AccountID(n), err == nil && n > 0
}

// MaxPage is the largest number of entries of a page.
const MaxPage = 1_000

// AccountQuery chooses a page of accounts, in the order of their names in which A and a
// are the same letter.
type AccountQuery struct {
	// Prefix is how the name begins, whatever its case in ASCII; "": any.
	Prefix string
	Plan   Plan // "": any
	// After is the last account of the previous page; zero for the first page.
	After AccountCursor
	Limit int // from 1 to [MaxPage]
}

// AccountCursor is a place in the order of accounts.
type AccountCursor struct {
	Name string
	ID   AccountID
}

// AccountSummary is an account with what operators compare.
type AccountSummary struct {
	Account

	Keys           int64     // that are active
	Bans           int64     // in force
	UsedAt         time.Time // when one of its keys was last used; zero: never
	Today, Refused int64     // requests of today that were admitted, and refused
}

// AccountStore keeps accounts. Every change commits together with its audit
// entry, and reaches the servers as an [AccessChange].
type AccountStore interface {
	// CreateAccount returns an [Error] with [CodeInvalidField] when an open
	// account has the name already.
	CreateAccount(ctx context.Context, by Actor, name AccountName, s Subscription) (Account, error)
	// FindAccount finds an account by id or name, an open one before closed
	// ones. It returns an [Error] with [CodeNotFound].
	FindAccount(ctx context.Context, ref string) (Account, error)
	// EachAccount calls fn for every account, by id ascending, closed ones
	// included, and stops at the first error that fn returns.
	EachAccount(ctx context.Context, fn func(Account) error) error
	// RenameAccount gives an account another name. A closed account, and a name that another
	// open account has, are an [Error] with [CodeInvalidField].
	RenameAccount(ctx context.Context, by Actor, id AccountID, name AccountName) (Account, error)
	// ChangeSubscription puts an account on another plan, at once; what is used
	// stays used. A closed account is an [Error] with [CodeInvalidField].
	ChangeSubscription(ctx context.Context, by Actor, id AccountID, s Subscription) (Account, error)
	// CloseAccount closes an account permanently and revokes its keys. Closing
	// twice changes nothing.
	CloseAccount(ctx context.Context, by Actor, id AccountID) (Account, error)
	// AccountPage returns a page of accounts. One with fewer entries than the limit is the last, as
	// in all lists.
	AccountPage(ctx context.Context, q AccountQuery) ([]Account, error)
	// AccountSummaries returns the accounts with these ids, in their order.
	AccountSummaries(ctx context.Context, ids []AccountID) ([]AccountSummary, error)
}
