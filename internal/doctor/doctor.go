// Package doctor checks a deployment on one machine, with or without a running node, and reports
// remedies for the problems it finds.
//
// It is read-only: it does not create a deployment, directory or schema. All checks run, even if one
// fails.
package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"time"

	"github.com/petcat-api/petcat/internal/backup"
	"github.com/petcat-api/petcat/internal/clock"
	"github.com/petcat-api/petcat/internal/config"
	"github.com/petcat-api/petcat/internal/datadir"
	"github.com/petcat-api/petcat/internal/postgres"
	"github.com/petcat-api/petcat/internal/server"
	"github.com/petcat-api/petcat/internal/store"
)

const (
	// checkTimeout limits the time of each check.
	checkTimeout = 10 * time.Second
	// The thresholds are the same as in the alerts. Free space is in bytes.
	lowSpace     = 1_000_000_000
	almostFull   = 100_000_000
	clocksDiffer = 2 * time.Second
	expiresSoon  = 7 * 24 * time.Hour
	// A busy service uses thousands of transaction ids per second, and leaves as many dead rows.
	manyTransactions = 500_000_000
	oldSnapshot      = 15 * time.Minute
)

// Status is the severity of a finding.
type Status string

// The statuses.
const (
	OK      Status = "ok"
	Warning Status = "warning" // the service works, but needs attention
	Problem Status = "problem" // the service does not work correctly, or cannot start
)

// Finding is the result of one check.
type Finding struct {
	Part   string `json:"part"`
	Status Status `json:"status"`
	// Text is one sentence, with the remedy unless the status is OK.
	Text string `json:"text"`
}

// Options for [Examine].
type Options struct {
	Settings config.Settings
	Environ  map[string]string // with the variables of OpenTelemetry
	Clock    clock.Clock
	Place    string // the data's location, for output
	// Host is the name of this machine, "" if it is unknown.
	Host string
	// Database is the open database, and Shared is its store. If it cannot be opened, both are nil,
	// and OpenErr is the reason.
	Database store.Database
	Shared   backup.SharedTexts
	OpenErr  error
	// Node is the readiness of the node on this machine. If there is none, NodeErr is the reason.
	Node    server.Readiness
	NodeErr error
	// Explain returns a sentence about a store error, with the command that helps.
	Explain func(error) string
}

// examination is one run of all checks.
type examination struct {
	Options

	findings []Finding
}

// Examine runs all checks. It returns the findings in the order in which an operator should fix them.
func Examine(ctx context.Context, o Options) []Finding {
	x := &examination{Options: o}
	for _, check := range []func(context.Context){
		x.settings,
		x.data,
		x.disk,
		x.clock,
		x.node,
		x.listeners,
		x.certificate,
		x.backups,
	} {
		limited, cancel := context.WithTimeout(ctx, checkTimeout)
		check(limited)
		cancel()
	}
	return x.findings
}

// Worst returns the worst status of the findings.
func Worst(findings []Finding) Status {
	worst := OK
	for _, f := range findings {
		switch f.Status {
		case Problem:
			return Problem
		case Warning:
			worst = Warning
		default:
		}
	}
	return worst
}

func (x *examination) report(part string, s Status, format string, args ...any) {
	x.findings = append(x.findings, Finding{
		Part:   part,
		Status: s,
		Text:   fmt.Sprintf(format, args...),
	})
}

// settings checks what the settings name, as a start of the service does.
func (x *examination) settings(context.Context) {
	wrong := server.CheckSettings(x.Settings, x.Environ)
	for _, err := range wrong {
		x.report("settings", Problem, "%s", x.Explain(err))
	}
	if len(wrong) == 0 {
		x.report("settings", OK, "the directories, programs and networks of the settings can be used")
	}
}

// data checks the store. Opening it included a check of the schema.
func (x *examination) data(ctx context.Context) {
	part := "data"
	if !x.Settings.UsesSQLite() {
		part = "database"
	}
	start := x.Clock.Read()
	err := x.OpenErr
	if err == nil {
		err = x.Database.Check(ctx)
	}
	if err != nil {
		x.report(part, Problem, "%s", x.Explain(err))
		return
	}
	took := x.Clock.Read().Since(start)
	x.report(part, OK, "%s responded in %s", x.Place, took.Round(10*time.Microsecond))
	x.schema(ctx)
	x.vacuuming(ctx)
}

// schema checks whether the data belongs to a newer version.
func (x *examination) schema(ctx context.Context) {
	newer, err := x.Database.NewerSchema(ctx)
	switch {
	case err != nil:
		x.report("schema", Problem, "%s", x.Explain(err))
	case newer:
		x.report("schema", Warning, "a newer petcat has migrated the schema; "+
			"finish the upgrade, or let nobody but the newer version make backups")
	default:
		x.report("schema", OK, "the schema is up to date")
	}
}

// vacuuming checks whether PostgreSQL can remove dead rows.
func (x *examination) vacuuming(ctx context.Context) {
	p, ok := x.Database.(*postgres.DB)
	if !ok {
		return
	}
	transactions, snapshot, err := p.Vacuuming(ctx)
	switch {
	case err != nil:
		x.report("vacuum", Problem, "%s", x.Explain(err))
	case transactions > manyTransactions:
		x.report("vacuum", Warning, "the oldest row was frozen %d transactions ago; "+
			"enable autovacuum or run VACUUM FREEZE: "+
			"at two billion, PostgreSQL stops accepting writes", transactions)
	case snapshot > oldSnapshot:
		x.report("vacuum", Warning, "a transaction has been open for %s, so dead rows cannot be removed; "+
			"find it in pg_stat_activity", snapshot.Round(time.Second))
	default:
		x.report("vacuum", OK, "dead rows are removed")
	}
}

// disk checks the disk of SQLite, even if the database cannot be opened.
func (x *examination) disk(context.Context) {
	if !x.Settings.UsesSQLite() || isMissing(x.Settings.Data) {
		return // data reports a missing directory
	}
	dir, err := datadir.Open(x.Settings.Data, true) // it exists, so this only checks permissions
	if err != nil {
		x.report("disk", Problem, "%s", x.Explain(err))
		return
	}
	x.space("disk", dir.Disk(), "the data", "creates get 503")
	for _, sentence := range dir.Exposed() {
		x.report("access", Warning, "%s", sentence)
	}
}

// space checks the free disk space of a directory, which the named files use. effect is the effect of
// a full disk.
func (x *examination) space(part, directory, files, effect string) {
	free, _, err := datadir.Room(directory)
	gigabytes := float64(free) / 1e9
	switch {
	case err != nil:
		x.report(part, Warning, "the free space of %s cannot be read (%v); check it with df", directory, err)
	case free < almostFull:
		x.report(part, Problem, "%.2f GB are free for %s; free some space now: if the disk is full, %s",
			gigabytes, files, effect)
	case free < lowSpace:
		x.report(part, Warning, "%.2f GB are free for %s; free some space: if the disk is full, %s",
			gigabytes, files, effect)
	default:
		x.report(part, OK, "%.1f GB are free for %s", gigabytes, files)
	}
}

// clock checks whether this machine's clock is synchronized, and its offset from the database's.
func (x *examination) clock(context.Context) {
	switch synchronized, known := synchronized(); {
	case known && synchronized:
		x.report("clock", OK, "the clock is synchronized")
	case known:
		x.report("clock", Warning, "the clock is not synchronized; start chrony or systemd-timesyncd, "+
			"because windows, bans and expiries depend on the clock")
	}
	p, ok := x.Database.(*postgres.DB)
	if !ok {
		return
	}
	ahead := p.Stats().ClockAhead.Round(time.Millisecond)
	if ahead.Abs() > clocksDiffer {
		x.report("clock", Problem, "the clock differs from the database's by %s; "+
			"correct the wrong clock, because bans and expiries depend on it", ahead)
	} else {
		x.report("clock", OK, "the clock differs from the database's by %s", ahead)
	}
}

// node reports the state of the node on this machine.
func (x *examination) node(context.Context) {
	if x.NodeErr != nil {
		x.report("node", Warning, "%v", x.NodeErr)
		return
	}
	status := x.Node.Status
	switch status {
	case "ready":
		x.report("node", OK, "the node is ready")
	case "starting", "draining", "drained":
		x.report("node", Warning, "the node is %s and gets no requests; "+
			"run doctor again in a moment, and check the log if this lasts", status)
	default:
		for part, problem := range x.Node.Checks {
			if problem != "ok" {
				x.report("node", Problem, "the node is %s because of its %s: %s", status, part, problem)
			}
		}
	}
}

// listeners checks whether a node could listen, unless one is running.
func (x *examination) listeners(ctx context.Context) {
	if x.NodeErr == nil {
		return
	}
	if err := server.CheckListeners(ctx, x.Settings); err != nil {
		x.report("listeners", Problem, "%v", err)
	} else {
		x.report("listeners", OK, "%s and %s are free", x.Settings.Listen, x.Settings.AdminListen)
	}
}

// certificate checks the TLS certificate.
func (x *examination) certificate(context.Context) {
	if !x.Settings.TLS() {
		return
	}
	host := ""
	if u, err := url.Parse(x.Settings.PublicURL); err == nil && u.Scheme == "https" {
		host = u.Hostname()
	}
	expires, err := server.CheckCertificate(x.Settings, x.Clock, host)
	left := expires.Sub(x.Clock.Read().Time())
	on := expires.UTC().Format(time.RFC3339)
	switch {
	case expires.IsZero():
		x.report("certificate", Problem, "%v", err)
	case err != nil:
		x.report("certificate", Problem, "it is not valid for %s (%v); "+
			"install a certificate that is, or correct --public-url", host, err)
	case left <= 0:
		x.report("certificate", Problem, "it expired on %s, so clients reject it; "+
			"renew it: petcat loads the new files within a second", on)
	case left < expiresSoon:
		x.report("certificate", Warning, "it expires on %s; "+
			"renew it: petcat loads the new files within a second", on)
	default:
		x.report("certificate", OK, "it expires on %s", on)
	}
}

// backups checks the directory for scheduled backups, and the record of the last backup.
func (x *examination) backups(ctx context.Context) {
	if x.Settings.BackupEvery > 0 && !isMissing(x.Settings.BackupDir) {
		x.space("backups", x.Settings.BackupDir, "the backups in "+x.Settings.BackupDir, "no backup can be made")
	}
	if x.OpenErr == nil {
		x.lastBackup(ctx, x.Settings.BackupEvery)
	}
}

// lastBackup checks the record of the last backup. The command may not have the nodes' settings:
// without an interval, it only reports the age.
func (x *examination) lastBackup(ctx context.Context, every time.Duration) {
	last, err := backup.LastMade(ctx, x.Shared)
	age := x.Clock.Read().Time().Sub(last.TakenAt).Round(time.Second)
	switch {
	case err != nil:
		x.report("backups", Problem, "the record of the last backup cannot be read (%v); "+
			"fix the database problem above first", err)
	case last.File == "" && every == 0:
		x.report("backups", Warning, "there are no scheduled backups; "+
			"start nodes with --backup-every 24h, or make sure that another program makes backups")
	case last.File == "":
		x.report("backups", Warning, "no backup has been made yet; "+
			"a node makes the first one when it starts, and logs the reason if it fails")
	case every > 0 && age > every*3/2:
		x.report("backups", Problem, "the last good backup is %s old, but the interval is %s; "+
			"find \"scheduled backup failed\" in the logs of the nodes", age, every)
	case last.Host == x.Host && isMissing(last.File):
		x.report("backups", Problem, "the last backup, %s, is missing; "+
			"find out why, and make another one: petcat backup FILE", last.File)
	default:
		x.report("backups", OK, "the last good backup is %s old: %s on %s, %d bytes",
			age, last.File, last.Host, last.Size)
	}
}

func isMissing(path string) bool {
	_, err := os.Stat(path)
	return errors.Is(err, fs.ErrNotExist)
}
