// Package doctor looks at everything that a deployment needs on one machine, beside a
// running node or without one, and says what to do about what it finds.
//
// It changes nothing: it makes no deployment, no directory and no schema; what it writes,
// to measure the disk, it removes. Each part is looked at by itself, so that one that is
// unavailable hides no other; what cannot be looked at without it is named. A server is
// waited for no longer than [partTimeout].
package doctor

import (
	"context"
	"fmt"
	"time"

	"petcat/internal/backup"
	"petcat/internal/clock"
	"petcat/internal/config"
	"petcat/internal/server"
)

// partTimeout bounds how long the servers of one part are waited for.
const partTimeout = 10 * time.Second

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
	Dataset() string
	// Check reports whether the database answers.
	Check(ctx context.Context) error
	Close() error
}

// Options says what to look at.
type Options struct {
	Settings config.Settings
	Clock    clock.Clock
	Place    string // where the data is, for people
	// Host is the name of this machine, "" if it is unknown.
	Host string
	// Open opens the data as management commands do: it makes none.
	Open func(ctx context.Context) (Store, error)
	// Ask asks the node on this machine for its readiness.
	Ask func(ctx context.Context) (server.Readiness, error)
	// Explain returns a sentence about an error of Open, with the command that helps.
	Explain func(error) string
}

// examination is one look at everything.
type examination struct {
	Options

	findings []Finding
	store    Store // nil: it cannot be opened
	running  bool  // a node responds
}

// Examine looks at everything. It returns the findings in the order in which an operator
// should act on them.
func Examine(ctx context.Context, o Options) []Finding {
	x := &examination{Options: o}
	for _, part := range []func(context.Context){
		x.data, x.disk, x.clock, x.node, x.listeners, x.certificate, x.backups,
	} {
		limited, cancel := context.WithTimeout(ctx, partTimeout)
		part(limited)
		cancel()
	}
	if x.store != nil {
		_ = x.store.Close() // nothing was changed
	}
	return x.findings
}

// Worst returns the worst status of some findings.
func Worst(findings []Finding) Status {
	worst := OK
	for _, f := range findings {
		if f.Status == Problem || f.Status == Warning && worst == OK {
			worst = f.Status
		}
	}
	return worst
}

func (x *examination) found(part string, s Status, format string, args ...any) {
	x.findings = append(x.findings, Finding{Part: part, Status: s, Text: fmt.Sprintf(format, args...)})
}
