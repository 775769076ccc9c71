package doctor

import (
	"context"
	"errors"
	"os"
	"slices"
	"time"

	"petcat/internal/datadir"
	"petcat/internal/openerror"
	"petcat/internal/postgres"
)

const (
	// littleRoom is what the alert of a full disk fires at, in bytes; noRoom is so little
	// that the next hour may use it up.
	littleRoom, noRoom = 1_000_000_000, 100_000_000
	// slowSync is what the alert of slow commits fires at.
	slowSync = 100 * time.Millisecond
	// syncs are how often a sync is measured, of so many bytes.
	syncs, syncBytes = 5, 4 << 10
	// clocksDiffer is what the alert of different clocks fires at.
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
	x.found("schema", OK, "it is the one of this version")
}

// disk looks at the disk of an embedded database.
func (x *examination) disk(context.Context) {
	if x.store == nil || !x.Settings.UsesSQLite() {
		return
	}
	dir, err := datadir.Open(x.Settings.Data) // it is there, and files can be made in it
	if err != nil {
		x.found("disk", Problem, "%s", x.Explain(err))
		return
	}
	free, err := dir.FreeBytes()
	switch gigabytes := float64(free) / 1e9; {
	case err != nil:
		x.found("disk", Warning, "nobody knows how much room is left (%v); look with df", err)
	case free < noRoom:
		x.found("disk", Problem, "%.2f GB are left for the data; free some space now: without any, creates get 503", gigabytes)
	case free < littleRoom:
		x.found("disk", Warning, "%.2f GB are left for the data; free some space: without any, creates get 503", gigabytes)
	default:
		x.found("disk", OK, "%.1f GB are left for the data", gigabytes)
	}
	switch took, err := x.syncTime(dir); {
	case err != nil:
		x.found("disk", Problem, "a file in the data directory cannot be synced (%v); check the disk", err)
	case took > slowSync:
		x.found("disk", Warning, "a sync takes %s, and each create waits for one; look for another writer, or use a faster disk", took)
	default:
		x.found("disk", OK, "a sync takes %s", took)
	}
}

// syncTime returns how long the disk takes to keep a little.
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

// clock looks whether somebody sets this machine's clock right, and how far it is from
// that of the database.
func (x *examination) clock(context.Context) {
	switch synchronised, known := synchronised(); {
	case known && synchronised:
		x.found("clock", OK, "it is kept right")
	case known:
		x.found("clock", Warning, "nothing keeps the clock of this machine right; start chrony or systemd-timesyncd, because windows, bans and expiries follow the clock")
	}
	p, ok := x.store.(*postgres.Store)
	if !ok {
		return
	}
	ahead := p.Stats().ClockAhead.Round(time.Millisecond)
	if ahead.Abs() > clocksDiffer {
		x.found("clock", Problem, "it is %s ahead of the database's (negative: behind); set the wrong one of the two right, because nodes that differ see bans and expiries at different times", ahead)
	} else {
		x.found("clock", OK, "it is %s ahead of the database's", ahead)
	}
}
