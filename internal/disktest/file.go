package disktest

import (
	"maps"
	"math/rand/v2"
	"slices"
)

const (
	pageSize   = 4096 // usually written atomically
	sectorSize = 512  // never torn
)

// file is a file or a directory. The disk's mu guards it.
type file struct {
	id    uint64
	name  string // at creation
	mode  uint32
	links uint32
	mtime int64 // nanoseconds since the Unix epoch

	// For files: the contents that programs see, the synced contents, and the changes since, in
	// order.
	data, synced []byte
	unsynced     []change

	// The same for directories.
	names, syncedNames map[string]*file // nil for files
	unsyncedNames      []renaming
}

// change is a write or, if data is nil, a truncation to a size.
type change struct {
	at   int64
	data []byte
}

// renaming is an atomic name change; nil removes a name.
type renaming map[string]*file

func (f *file) isDir() bool { return f.names != nil }

func (f *file) write(at int64, data []byte) {
	f.data = apply(f.data, change{at, data})
	f.unsynced = append(f.unsynced, change{at, slices.Clone(data)})
}

func (f *file) resize(size int64) {
	f.data = apply(f.data, change{at: size})
	f.unsynced = append(f.unsynced, change{at: size})
}

func (f *file) rename(r renaming) {
	applyNames(f.names, r)
	f.unsyncedNames = append(f.unsyncedNames, r)
}

// sync makes all changes durable.
func (f *file) sync() {
	if f.isDir() {
		f.syncedNames, f.unsyncedNames = maps.Clone(f.names), nil
		return
	}
	f.synced, f.unsynced = slices.Clone(f.data), nil
}

// apply returns the data after a change.
func apply(data []byte, c change) []byte {
	end := c.at + int64(len(c.data))
	switch {
	case c.data == nil && c.at < int64(len(data)):
		return data[:c.at:c.at]
	case end > int64(len(data)):
		data = append(data, make([]byte, end-int64(len(data)))...)
	}
	copy(data[c.at:], c.data)
	return data
}

func applyNames(names map[string]*file, r renaming) {
	for name, f := range r {
		if f == nil {
			delete(names, name)
		} else {
			names[name] = f
		}
	}
}

// survive replaces the state of a file, and of all files below it, by their state after a power
// cut. keep is the probability that an unsynced page survives.
func (f *file) survive(random *rand.Rand, keep float64) {
	if !f.isDir() {
		data := slices.Clone(f.synced)
		for _, c := range f.unsynced {
			for _, part := range c.survive(random, keep) {
				data = apply(data, part)
			}
		}
		f.data = data
		f.sync()
		return
	}
	kept := random.IntN(len(f.unsyncedNames) + 1)
	switch keep {
	case 0:
		kept = 0
	case 1:
		kept = len(f.unsyncedNames)
	}
	f.names = maps.Clone(f.syncedNames)
	for _, r := range f.unsyncedNames[:kept] {
		applyNames(f.names, r)
	}
	f.sync()
	for _, name := range slices.Sorted(maps.Keys(f.names)) {
		f.names[name].survive(random, keep)
	}
}

// survive returns the parts of a change that survive.
func (c change) survive(random *rand.Rand, keep float64) (parts []change) {
	if c.data == nil {
		if random.Float64() < keep {
			parts = append(parts, c)
		}
		return parts
	}
	for page := range pieces(c, pageSize) {
		switch luck := random.Float64(); {
		case luck < keep:
			parts = append(parts, page)
		case luck < keep+0.1 && keep > 0: // torn
			for sector := range pieces(page, sectorSize) {
				if random.IntN(2) == 0 {
					parts = append(parts, sector)
				}
			}
		}
	}
	return parts
}

// pieces splits a write at multiples of a size.
func pieces(c change, size int64) func(yield func(change) bool) {
	return func(yield func(change) bool) {
		for len(c.data) > 0 {
			n := min(size-c.at%size, int64(len(c.data)))
			if !yield(change{c.at, c.data[:n]}) {
				return
			}
			c = change{c.at + n, c.data[n:]}
		}
	}
}
