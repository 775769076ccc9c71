package doctor

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"slices"
	"time"

	"petcat/internal/datadir"
	"petcat/internal/openerror"
	"petcat/internal/osfile"
	"petcat/internal/postgres"
)

const (
	// littleRoom is the free space below which the alert for a full disk fires, in bytes;
	// noRoom may be used up within an hour.
	littleRoom, noRoom = 1_000_000_000, 100_000_000
	// slowSync is the threshold of the alert for slow commits.
	slowSync = 100 * time.Millisecond
	// A sync of syncBytes is measured so many times.
	syncs, syncBytes = 5, 4 << 10
	// clocksDiffer is the threshold of the alert for clocks that differ.
	clocksDiffer = 2 * time.Second
)

// data opens the data, which also checks the schema.
func (x *examination) data(ctx context.Context) {
	part := "data"
	if !x.Settings.UsesSQLite() {
		part = "database"
	}
	st, err := x.Open(ctx)
	if err != nil {
		if e, ok := errors.AsType[*openerror.Error](err); ok && (e.Kind == openerror.OlderSchema || e.Kind == openerror.NewerSchema) {
			part = "schema"
		}
		x.found(part, Problem, "%s", x.Explain(err))
		return
	}
	x.store = st
	begun := x.Clock.Read()
	if err := st.Check(ctx); err != nil {
		x.found(part, Problem, "%s does not answer (%v); restore it, petcat recovers by itself", x.Place, err)
		return
	}
	took := x.Clock.Read().Since(begun)
	if p, ok := st.(*postgres.Store); ok && !p.Stats().Writable {
		x.found(part, Problem, "%s takes no writes; use the address of the primary server, or free space on its disk", x.Place)
	} else {
		x.found(part, OK, "%s answers within %s", x.Place, took.Round(10*time.Microsecond))
	}
	x.found("schema", OK, "it is the schema of this version")
}

// disk looks at the disk of an embedded database, also of one that cannot be opened.
func (x *examination) disk(context.Context) {
	if !x.Settings.UsesSQLite() {
		return
	}
	if _, err := os.Stat(x.Settings.Data); errors.Is(err, fs.ErrNotExist) {
		return // there is no data, which was told
	}
	dir, err := datadir.Open(x.Settings.Data) // it is there, and files can be made in it
	if err != nil {
		x.found("disk", Problem, "%s", x.Explain(err))
		return
	}
	x.room(space{part: "disk", directory: dir.Path(), use: "the data", without: "creates get 503"})
	switch took, err := x.syncTime(dir); {
	case err != nil:
		x.found("disk", Problem, "a file in the data directory cannot be synced (%v); check the disk", err)
	case took > slowSync:
		x.found("disk", Warning, "a sync takes %s, and each create waits for one; look for another writer, or use a faster disk", took)
	default:
		x.found("disk", OK, "a sync takes %s", took)
	}
}

// space is the room that a directory has for something.
type space struct {
	part, directory string
	use             string // what needs it
	without         string // what happens without any
}

// room looks at the free space of a directory's disk.
func (x *examination) room(s space) {
	free, err := osfile.FreeBytes(s.directory)
	switch left := gigabytes(free); {
	case err != nil:
		x.found(s.part, Warning, "the free space of %s cannot be read (%v); look with df", s.directory, err)
	case free < noRoom:
		x.found(s.part, Problem, "%.2f GB are left for %s; free some space now: without any, %s", left, s.use, s.without)
	case free < littleRoom:
		x.found(s.part, Warning, "%.2f GB are left for %s; free some space: without any, %s", left, s.use, s.without)
	default:
		x.found(s.part, OK, "%.1f GB are left for %s", left, s.use)
	}
}

func gigabytes(bytes int64) float64 { return float64(bytes) / 1e9 }

// syncTime returns the median duration of a small sync.
func (x *examination) syncTime(dir *datadir.Dir) (median time.Duration, err error) {
	file, err := os.CreateTemp(dir.File(""), ".doctor-*")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, file.Close(), os.Remove(file.Name())) }()
	took := make([]time.Duration, syncs)
	for i := range took {
		if _, err := file.WriteAt(make([]byte, syncBytes), 0); err != nil {
			return 0, err
		}
		begun := x.Clock.Read()
		if err := file.Sync(); err != nil {
			return 0, err
		}
		took[i] = x.Clock.Read().Since(begun)
	}
	slices.Sort(took)
	return took[len(took)/2].Round(10 * time.Microsecond), nil
}

// clock checks whether this machine's clock is synchronised, and how far it is from the
// database's.
func (x *examination) clock(context.Context) {
	switch synchronised, known := synchronised(); {
	case known && synchronised:
		x.found("clock", OK, "it is synchronised")
	case known:
		x.found("clock", Warning, "it is not synchronised; start chrony or systemd-timesyncd, because windows, bans and expiries follow the clock")
	}
	p, ok := x.store.(*postgres.Store)
	if !ok {
		return
	}
	ahead := p.Stats().ClockAhead.Round(time.Millisecond)
	if ahead.Abs() > clocksDiffer {
		x.found("clock", Problem, "it is %s ahead of the database's (negative: behind); correct whichever is wrong, because nodes that differ see bans and expiries at different times", ahead)
	} else {
		x.found("clock", OK, "it is %s ahead of the database's", ahead)
	}
}
