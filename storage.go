package petcat

import "strings"

// Storage is an account's storage in the category list, or its limit.
type Storage struct {
	Categories int64
	Bytes      int64 // the sum of [Category.Size]
}

// Plus returns the sum of two storages.
func (s Storage) Plus(other Storage) Storage {
	return Storage{
		Categories: s.Categories + other.Categories,
		Bytes:      s.Bytes + other.Bytes,
	}
}

// Minus returns the difference of two storages.
func (s Storage) Minus(other Storage) Storage {
	return Storage{
		Categories: s.Categories - other.Categories,
		Bytes:      s.Bytes - other.Bytes,
	}
}

// categoryBytes is the size of a category without its texts: the id, the names of the members, and
// 12 bytes that a node keeps for it. It bounds the memory of many categories with short names.
const categoryBytes = 64

// Size returns the number of bytes for which a category counts: the size of its texts in JSON (UTF-8,
// with escapes), and 64 for the rest, which is at least its size in the list.
func (c Category) Size() int64 {
	size := categoryBytes + jsonBytes(c.Name)
	if c.Description != nil {
		size += jsonBytes(*c.Description)
	}
	return size
}

// jsonBytes returns the length of a text in a JSON string. The escaped characters that a category
// can contain take one byte more: see [textRule].
func jsonBytes(text string) int64 {
	size := len(text)
	for _, escaped := range []string{`"`, `\`, "\t", "\n", "\r"} {
		size += strings.Count(text, escaped)
	}
	return int64(size)
}

// Stored returns the storage of one category.
func (c Category) Stored() Storage {
	return Storage{
		Categories: 1,
		Bytes:      c.Size(),
	}
}

// Holdings is the current storage when an account asks for more.
type Holdings struct {
	Account Storage // of the account
	All     Storage // of all accounts and operators
}

// StorageRoom has the limits for a new or a longer category.
type StorageRoom struct {
	// Account is the limit of the account; zero for an operator, who has none.
	Account Storage
	// AllBytes is the limit of the deployment.
	AllBytes int64
}

// Check returns an [Error] with [CodeStorageLimitReached] if a change exceeds a limit. A change that does
// not need more storage, such as a shorter text, is always possible.
func (r StorageRoom) Check(held Holdings, added Storage) *Error {
	if added.Categories <= 0 && added.Bytes <= 0 {
		return nil
	}
	if held.All.Bytes+added.Bytes > r.AllBytes {
		return Errorf(CodeStorageLimitReached,
			"the service has no room for more categories; its operator has to make room")
	}
	if r.Account == (Storage{}) {
		return nil
	}
	after := held.Account.Plus(added)
	if added.Categories > 0 && after.Categories > r.Account.Categories {
		return Errorf(CodeStorageLimitReached,
			"the account has %d of at most %d categories; delete some, or ask for a larger plan",
			held.Account.Categories, r.Account.Categories)
	}
	if after.Bytes > r.Account.Bytes {
		return Errorf(CodeStorageLimitReached,
			"the account's categories would take %d of at most %d bytes; "+
				"delete some, shorten their texts, or ask for a larger plan",
			after.Bytes, r.Account.Bytes)
	}
	return nil
}

// FullOf returns the [Error] for an account that has as many pets, or orders, as it may have: the
// number of categories of its limit.
func (s Storage) FullOf(kind string) *Error {
	return Errorf(CodeStorageLimitReached,
		"the account has %d %s, as many as it may have; delete some, or ask for a larger plan", s.Categories, kind)
}
