package keyring

import (
	"slices"
	"sync"

	"petcat"
)

// shards is how many locks the cache spreads its entries over. With 64, two
// cores looking keys up at random rarely meet.
const shards = 64

// cache is a bounded map from hashes to callers. When a shard is full, putting
// drops an arbitrary other entry: a key that is in use is looked up again at
// the cost of one read of the store.
type cache struct {
	perShard int
	shard    [shards]struct {
		sync.RWMutex
		entries map[petcat.KeyHash]*Caller // guarded by the lock
	}
}

func newCache(maxEntries int) *cache {
	c := &cache{perShard: max(1, maxEntries/shards)}
	for i := range c.shard {
		c.shard[i].entries = make(map[petcat.KeyHash]*Caller)
	}
	return c
}

func (c *cache) get(hash petcat.KeyHash) *Caller {
	s := &c.shard[hash[0]%shards]
	s.RLock()
	caller := s.entries[hash]
	s.RUnlock()
	return caller
}

func (c *cache) put(caller *Caller) {
	s := &c.shard[caller.hash[0]%shards]
	s.Lock()
	defer s.Unlock()
	if _, present := s.entries[caller.hash]; !present && len(s.entries) >= c.perShard {
		for other := range s.entries {
			delete(s.entries, other)
			break
		}
	}
	s.entries[caller.hash] = caller
}

func (c *cache) remove(hash petcat.KeyHash) {
	s := &c.shard[hash[0]%shards]
	s.Lock()
	defer s.Unlock()
	delete(s.entries, hash)
}

// removeAccounts drops all keys of the accounts. It passes over the whole
// cache, which is fit for changes that people make.
func (c *cache) removeAccounts(accounts []petcat.AccountID) {
	for i := range c.shard {
		s := &c.shard[i]
		s.Lock()
		for hash, caller := range s.entries {
			if slices.Contains(accounts, caller.Account) {
				delete(s.entries, hash)
			}
		}
		s.Unlock()
	}
}

func (c *cache) len() int {
	n := 0
	for i := range c.shard {
		s := &c.shard[i]
		s.RLock()
		n += len(s.entries)
		s.RUnlock()
	}
	return n
}
