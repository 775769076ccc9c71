package backupschedule

import (
	"context"
	"encoding/json"
	"fmt"
	"time"
)

// noteName is the name of the note that holds the [Record].
const noteName = "scheduled_backup"

// Record is what the nodes of a deployment share about its scheduled backups.
type Record struct {
	Last  *Backup `json:"last,omitempty"`  // nil: there has been none
	Claim *Claim  `json:"claim,omitempty"` // nil: nobody makes one
}

// Backup is a verified backup.
type Backup struct {
	TakenAt time.Time `json:"taken_at"` // the moment of the copy
	Host    string    `json:"host"`     // the machine that made it
	File    string    `json:"file"`     // its path there
	Size    int64     `json:"size"`     // in bytes
	Seconds float64   `json:"seconds"`  // that it took, with the check
}

// Claim says that a node makes a backup.
type Claim struct {
	Node  string    `json:"node"`
	Until time.Time `json:"until"` // by that node's clock
}

// Notes are texts that all nodes share.
type Notes interface {
	// Note returns a note, "" if there is none.
	Note(ctx context.Context, name string) (string, error)
	// SwapNote changes a note if it still is what it was, and reports whether it was.
	SwapNote(ctx context.Context, name, was, to string) (bool, error)
}

// Read returns the record of the scheduled backups, and the note's text.
func Read(ctx context.Context, notes Notes) (r Record, text string, err error) {
	if text, err = notes.Note(ctx, noteName); err != nil || text == "" {
		return r, text, err
	}
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		// A text of a newer version is worth no outage: it is written anew.
		return Record{}, text, nil //nolint:nilerr // as above
	}
	return r, text, nil
}

func (r Record) text() (string, error) {
	text, err := json.Marshal(r)
	if err != nil {
		return "", fmt.Errorf("encode the record of the backups: %w", err)
	}
	return string(text), nil
}

// untilDue returns how long it takes until the next backup is due on a machine. The one
// that made the last has precedence, so that the files stay together if each machine
// has a folder of its own.
func (r Record) untilDue(now time.Time, every time.Duration, host string) time.Duration {
	if r.Last == nil {
		return 0
	}
	age := now.Sub(r.Last.TakenAt)
	if age < -every/2 {
		return 0 // the clock was set back: nobody knows how old it is
	}
	if r.Last.Host != host {
		age -= min(precedence, every/4)
	}
	return max(0, every-age)
}

// isOf reports whether a node makes a backup.
func (r Record) isOf(node string) bool { return r.Claim != nil && r.Claim.Node == node }

// claimed returns for how long another node makes a backup, for all that is known.
func (r Record) claimed(now time.Time, node string) time.Duration {
	if r.Claim == nil || r.isOf(node) {
		return 0
	}
	left := r.Claim.Until.Sub(now)
	if left > 2*claimFor {
		return 0 // the clock was set back
	}
	return max(0, left)
}
