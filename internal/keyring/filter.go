package keyring

import (
	"encoding/binary"
	"slices"
	"sync"
	"sync/atomic"

	"petcat"
)

// filter holds 48 bits of the hash of every key that exists, at most 8 bytes a key
// and 2 MB besides. A hash that is not in it has no key. One that is nearly always
// has: of 1,000,000 keys, one guess in 280,000,000 passes.
//
// Keys are never deleted, so the filter only grows.
type filter struct {
	complete atomic.Bool // until then it holds everything

	mu sync.RWMutex
	// tails is guarded by mu: the third to the sixth byte of hashes, by the first
	// two. Hashes are uniform, so all are as long: 15 of 1,000,000 keys. A map
	// would take twice the memory.
	tails [1 << 16][]uint32
}

func split(hash *petcat.KeyHash) (bucket uint16, tail uint32) {
	return binary.LittleEndian.Uint16(hash[:]), binary.LittleEndian.Uint32(hash[2:])
}

// holds reports whether there may be a key with this hash.
func (f *filter) holds(hash *petcat.KeyHash) bool {
	if !f.complete.Load() {
		return true
	}
	bucket, tail := split(hash)
	f.mu.RLock()
	defer f.mu.RUnlock()
	return slices.Contains(f.tails[bucket], tail)
}

func (f *filter) add(hash *petcat.KeyHash) {
	bucket, tail := split(hash)
	f.mu.Lock()
	defer f.mu.Unlock()
	if tails := &f.tails[bucket]; !slices.Contains(*tails, tail) {
		*tails = append(*tails, tail)
	}
}
