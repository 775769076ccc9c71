package petcat

import (
	"context"
	"time"
)

// MaxPage is the largest number of entries of a page.
const MaxPage = 1_000

// AccountQuery chooses a page of accounts, in the order of their names in which A and a
// are the same letter.
type AccountQuery struct {
	// Prefix is how the name begins, whatever its case in ASCII; "": any.
	Prefix string
	// After is the account behind which the page begins, by its name and id; zero: at
	// the first.
	After AccountCursor
	Limit int // from 1 to [MaxPage]
}

// AccountCursor is a place in the order of accounts.
type AccountCursor struct {
	Name string
	ID   AccountID
}

// KeyQuery chooses a page of an account's keys, the newest first.
type KeyQuery struct {
	Account AccountID
	Before  KeyID // only lower ids; 0: from the newest
	Limit   int   // from 1 to [MaxPage]
}

// BanQuery chooses a page of bans, by key.
type BanQuery struct {
	// Active chooses the bans that keep a key out, or in shadow mode would, at a
	// moment; zero: the last ban of each key.
	Active  time.Time
	Account AccountID // 0: any
	After   KeyID     // only higher ids; 0: from the first
	Limit   int       // from 1 to [MaxPage]
}

// PageStore reads one page of a list that may be long, without reading the rest. A page
// with fewer entries than the limit is the last one.
type PageStore interface {
	AccountPage(ctx context.Context, q AccountQuery) ([]Account, error)
	KeyPage(ctx context.Context, q KeyQuery) ([]Key, error)
	BanPage(ctx context.Context, q BanQuery) ([]Ban, error)
}
