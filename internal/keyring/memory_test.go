package keyring

import (
	"crypto/sha256"
	"encoding/binary"
	"runtime"
	"testing"

	"petcat"
)

// What a key may take in memory, as operators reckon with: one that was looked up,
// and one that exists.
const (
	keyBytes    = 250
	filterBytes = 8
)

func TestMemoryOfAKey(t *testing.T) {
	const keys = 200_000
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

func TestMemoryOfTheFilter(t *testing.T) {
	const keys = 1_000_000
	before := heap()
	f := new(filter)
	f.complete.Store(true)
	for i := range keys {
		hash := hashOf(i)
		f.add(&hash)
	}
	each := (float64(heap()-before) - 2<<20) / keys
	t.Logf("%.1f bytes a key", each)
	if each > filterBytes {
		t.Errorf("a key takes %.1f bytes; want at most %d", each, filterBytes)
	}
	for i := range 10_000 {
		if hash := hashOf(i); !f.holds(&hash) {
			t.Fatalf("key %d is not known", i)
		}
		if hash := hashOf(keys + i); f.holds(&hash) {
			t.Errorf("a key that does not exist passes")
		}
	}
}

func hashOf(i int) petcat.KeyHash {
	var number [8]byte
	binary.LittleEndian.PutUint64(number[:], uint64(i))
	return sha256.Sum256(number[:])
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
