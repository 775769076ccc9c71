package keyring

import (
	"encoding/binary"
	"runtime"
	"testing"

	"petcat"
)

// keyBytes is what a key may take in memory: what operators reckon with.
const keyBytes = 250

func TestMemoryOfAKey(t *testing.T) {
	const keys = 200_000
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := heap()
	c := newCache(2 * keys) // shards fill unevenly
	for i := range keys {
		var hash petcat.KeyHash
		binary.LittleEndian.PutUint64(hash[:], uint64(i)*0x9e3779b97f4a7c15)
		c.put(&Caller{Key: petcat.KeyID(i), hash: hash})
	}
	each := float64(heap()-before) / keys
	if c.len() != keys {
		t.Fatalf("%d keys are in memory; want %d", c.len(), keys)
	}
	t.Logf("%.0f bytes a key", each)
	if each > keyBytes {
		t.Errorf("a key takes %.0f bytes; want at most %d", each, keyBytes)
	}
	runtime.KeepAlive(c)
}
