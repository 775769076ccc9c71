// Package doctor checks everything that a deployment needs on one machine, beside a
// running node or without one, and says what to do about what it finds.
//
// It changes nothing: it makes no deployment, no directory and no schema. A failed check hides no other.
package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"slices"
	"time"

	"petcat/internal/backup"
	"petcat/internal/clock"
	"petcat/internal/config"
	"petcat/internal/datadir"
	"petcat/internal/postgres"
	"petcat/internal/server"
)

const (
	// checkTimeout bounds how long a check waits for servers.
	checkTimeout = 10 * time.Second
	// The other thresholds are those of the alerts. Free space is in bytes; noRoom may be used
	// up within an hour.
	littleRoom, noRoom = 1_000_000_000, 100_000_000
	clocksDiffer       = 2 * time.Second
	expiresSoon        = 7 * 24 * time.Hour
	// A busy service takes thousands of transaction ids a second, and leaves as many dead rows.
	manyTransactions = 500_000_000
	oldSnapshot      = 15 * time.Minute
)

// Status is how bad a finding is.
type Status string

// The statuses.
const (
	OK      Status = "ok"
	Warning Status = "warning" // the service works, but should not stay like this
	Problem Status = "problem" // the service does not work as it should, or cannot start
)

// Finding is what was found about one part.
type Finding struct {
	Part   string `json:"part"`
	Status Status `json:"status"`
	// Text is one sentence. Unless all is well it says what to do.
	Text string `json:"text"`
}

// Store is an open deployment.
type Store interface {
	backup.Notes
	// Check reports whether the database answers.
	Check(ctx context.Context) error
}

// Options says what to check.
type Options struct {
	Settings config.Settings
	Clock    clock.Clock
	Place    string // where the data is, for people
	// Host is the name of this machine, "" if it is unknown.
	Host string
	// Store is the data; nil: it cannot be opened, for the reason of StoreErr.
	Store    Store
	StoreErr error
	// Node is the readiness of the node on this machine; NodeErr: there is none.
	Node    server.Readiness
	NodeErr error
	// Explain returns a sentence about an error of the data, with the command that helps.
	Explain func(error) string
}

// examination is one run of all checks.
type examination struct {
	Options

	findings []Finding
}

// Examine runs all checks. It returns the findings in the order in which an operator should
// act on them.
func Examine(ctx context.Context, o Options) []Finding {
	x := &examination{Options: o}
	for _, check := range []func(context.Context){
		x.data, x.disk, x.clock, x.node, x.listeners, x.certificate, x.backups,
	} {
		limited, cancel := context.WithTimeout(ctx, checkTimeout)
		check(limited)
		cancel()
	}
	return x.findings
}

// Worst returns the worst status of some findings.
func Worst(findings []Finding) Status {
	for _, s := range []Status{Problem, Warning} {
		if slices.ContainsFunc(findings, func(f Finding) bool { return f.Status == s }) {
			return s
		}
	}
	return OK
}

func (x *examination) found(part string, s Status, format string, args ...any) {
	x.findings = append(x.findings, Finding{Part: part, Status: s, Text: fmt.Sprintf(format, args...)})
}

// data checks the data. Who opened it has also checked the schema.
func (x *examination) data(ctx context.Context) {
	part := "data"
	if !x.Settings.UsesSQLite() {
		part = "database"
	}
	begun, err := x.Clock.Read(), x.StoreErr
	if err == nil {
		err = x.Store.Check(ctx)
	}
	if err != nil {
		x.found(part, Problem, "%s", x.Explain(err))
		return
	}
	x.found(part, OK, "%s answers within %s", x.Place, x.Clock.Read().Since(begun).Round(10*time.Microsecond))
	x.found("schema", OK, "it is the schema of this version")
	x.vacuuming(ctx)
}

// vacuuming looks for what keeps PostgreSQL from removing dead rows.
func (x *examination) vacuuming(ctx context.Context) {
	p, ok := x.Store.(*postgres.Store)
	if !ok {
		return
	}
	switch transactions, snapshot, err := p.Vacuuming(ctx); {
	case err != nil:
		x.found("vacuum", Problem, "%s", x.Explain(err))
	case transactions > manyTransactions:
		x.found("vacuum", Warning, "the oldest row was frozen %d transactions ago; let autovacuum run, or run VACUUM FREEZE: PostgreSQL stops taking writes at two billion", transactions)
	case snapshot > oldSnapshot:
		x.found("vacuum", Warning, "a transaction has been open for %s, and dead rows stay until it ends; find it in pg_stat_activity", snapshot.Round(time.Second))
	default:
		x.found("vacuum", OK, "dead rows are removed")
	}
}

// disk checks the disk of an embedded database, also of one that cannot be opened.
func (x *examination) disk(context.Context) {
	if _, err := os.Stat(x.Settings.Data); !x.Settings.UsesSQLite() || errors.Is(err, fs.ErrNotExist) {
		return // the check of the data reports a missing directory
	}
	dir, err := datadir.Open(x.Settings.Data, true) // it exists, so this only checks that it is writable
	if err != nil {
		x.found("disk", Problem, "%s", x.Explain(err))
		return
	}
	x.room("disk", dir.Disk(), "the data", "creates get 503")
}

// room checks the free space of a directory's disk: use is what needs it, without what happens
// when there is none.
func (x *examination) room(part, directory, use, without string) {
	free, _, err := datadir.Room(directory)
	switch left := float64(free) / 1e9; {
	case err != nil:
		x.found(part, Warning, "the free space of %s cannot be read (%v); look with df", directory, err)
	case free < noRoom:
		x.found(part, Problem, "%.2f GB are left for %s; free some space now: without any, %s", left, use, without)
	case free < littleRoom:
		x.found(part, Warning, "%.2f GB are left for %s; free some space: without any, %s", left, use, without)
	default:
		x.found(part, OK, "%.1f GB are left for %s", left, use)
	}
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
	p, ok := x.Store.(*postgres.Store)
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

// node says how the node on this machine is, if there is one.
func (x *examination) node(context.Context) {
	switch r := x.Node; {
	case x.NodeErr != nil:
		x.found("node", Warning, "%v", x.NodeErr)
	case r.Status == "ready":
		x.found("node", OK, "it is ready")
	case slices.Contains([]string{"starting", "draining", "drained"}, r.Status):
		x.found("node", Warning, "it is %s and gets no requests; ask again in a moment, and look at its log if that lasts", r.Status)
	default:
		for part, problem := range r.Checks {
			if problem != "ok" {
				x.found("node", Problem, "it is %s, because of its %s: %s", r.Status, part, problem)
			}
		}
	}
}

// listeners checks whether a node could listen. One that runs does.
func (x *examination) listeners(ctx context.Context) {
	if x.NodeErr == nil {
		return
	}
	if err := server.CheckListeners(ctx, x.Settings); err != nil {
		x.found("listeners", Problem, "%v", err)
	} else {
		x.found("listeners", OK, "%s and %s are free", x.Settings.Listen, x.Settings.AdminListen)
	}
}

// certificate checks the files that a node serves.
func (x *examination) certificate(context.Context) {
	if !x.Settings.TLS() {
		return
	}
	host := ""
	if u, err := url.Parse(x.Settings.PublicURL); err == nil && u.Scheme == "https" {
		host = u.Hostname()
	}
	expires, err := server.CheckCertificate(x.Settings, x.Clock, host)
	left, on := expires.Sub(x.Clock.Read().Time()), expires.UTC().Format(time.RFC3339)
	switch {
	case expires.IsZero():
		x.found("certificate", Problem, "%v", err)
	case err != nil:
		x.found("certificate", Problem, "it is not for %s (%v); get one that is, or correct --public-url", host, err)
	case left <= 0:
		x.found("certificate", Problem, "it expired on %s, so clients refuse it; renew it: petcat serves the new files within a second", on)
	case left < expiresSoon:
		x.found("certificate", Warning, "it expires on %s; renew it: petcat serves the new files within a second", on)
	default:
		x.found("certificate", OK, "it expires on %s", on)
	}
}

// backups checks the directory of scheduled backups, which it does not create, and the record
// of the last one. The settings of the command may lack those of the nodes: without an interval
// it only reports the age.
func (x *examination) backups(ctx context.Context) {
	every, folder := x.Settings.BackupEvery, x.Settings.BackupDir
	if _, err := os.Stat(folder); every > 0 && !errors.Is(err, fs.ErrNotExist) {
		if err := datadir.Prepare(folder); err != nil {
			x.found("backups", Problem, "they cannot be written (%v); give this user write permission, or choose another directory with --backup-dir", err)
		} else {
			x.room("backups", folder, "the backups in "+folder, "none can be made")
		}
	}
	if x.StoreErr != nil {
		return
	}
	last, err := backup.LastMade(ctx, x.Store)
	age := x.Clock.Read().Time().Sub(last.TakenAt).Round(time.Second)
	_, missing := os.Stat(last.File)
	switch {
	case err != nil:
		x.found("backups", Problem, "the record of the last one cannot be read (%v); see above what is wrong with the database", err)
	case last.File == "" && every == 0:
		x.found("backups", Warning, "there are no scheduled backups; start nodes with --backup-every 24h, or make sure that another program makes backups")
	case last.File == "":
		x.found("backups", Warning, "none has been made yet; a node makes the first when it starts, and its log says why if it fails")
	case every > 0 && age > every*3/2:
		x.found("backups", Problem, "the last good one is %s old and one is due each %s; find \"a scheduled backup failed\" in the logs of the nodes", age, every)
	case last.Host == x.Host && errors.Is(missing, fs.ErrNotExist):
		x.found("backups", Problem, "the last one, %s, is gone; find out who removed it, and make another: petcat backup FILE", last.File)
	default:
		x.found("backups", OK, "the last good one is %s old: %s on %s, %d bytes", age, last.File, last.Host, last.Size)
	}
}
