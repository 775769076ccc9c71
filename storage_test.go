package petcat_test

import (
	"testing"

	"github.com/petcat-api/petcat"
)

func TestStorageRoom(t *testing.T) {
	limit := petcat.Storage{Categories: 10, Bytes: 1000}
	one := petcat.Storage{Categories: 1, Bytes: 100}
	for _, c := range []struct {
		name  string
		limit petcat.Storage
		held  petcat.Storage // of the account
		all   int64          // bytes of all accounts
		added petcat.Storage
		code  petcat.Code
	}{
		{name: "the last category", limit: limit, held: petcat.Storage{Categories: 9, Bytes: 900}, added: one},
		{
			name:  "one category too many",
			limit: limit,
			held:  petcat.Storage{Categories: 10, Bytes: 100},
			added: one,
			code:  petcat.CodeStorageLimitReached,
		},
		{
			name:  "one byte too many",
			limit: limit,
			held:  petcat.Storage{Categories: 1, Bytes: 901},
			added: one,
			code:  petcat.CodeStorageLimitReached,
		},
		{
			name:  "a longer text",
			limit: limit,
			held:  petcat.Storage{Categories: 1, Bytes: 1000},
			added: petcat.Storage{Bytes: 1},
			code:  petcat.CodeStorageLimitReached,
		},
		{
			name:  "a longer text, with as many categories as allowed",
			limit: limit,
			held:  petcat.Storage{Categories: 10, Bytes: 500},
			added: petcat.Storage{Bytes: 1},
		},
		{
			name:  "a shorter text above the limit, after a change to a smaller plan",
			limit: limit,
			held:  petcat.Storage{Categories: 20, Bytes: 2000},
			added: petcat.Storage{Bytes: -1},
		},
		{name: "the last byte of the deployment", limit: limit, all: 4900, added: one},
		{name: "a full deployment", limit: limit, all: 4901, added: one, code: petcat.CodeStorageLimitReached},
		{name: "a shorter text in a full deployment", limit: limit, all: 6000, added: petcat.Storage{Bytes: -1}},
		{name: "an operator has no limit", held: petcat.Storage{Categories: 1 << 40, Bytes: 1 << 40}, added: one},
		{name: "but the one of the deployment", all: 5000, added: one, code: petcat.CodeStorageLimitReached},
	} {
		t.Run(c.name, func(t *testing.T) {
			room := petcat.StorageRoom{Account: c.limit, AllBytes: 5000}
			held := petcat.Holdings{Account: c.held, All: petcat.Storage{Bytes: c.all}}
			var err error
			if rejected := room.Check(held, c.added); rejected != nil {
				err = rejected
			}
			wantCode(t, err, c.code)
		})
	}
}
