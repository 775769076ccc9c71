package backup

import (
	"context"
	"errors"
	"fmt"
	"time"

	"petcat"
)

// Format is the number of the format that is written. A change that an older
// program would misread gets the next one; older formats stay readable.
const Format = 2

// Header says what is in a backup.
type Header struct {
	// Program is the version of petcat that wrote it.
	Program     string             `json:"petcat"`
	TakenAt     time.Time          `json:"taken_at"`
	Environment petcat.Environment `json:"environment"`
	// Dataset is the random name of the data that was copied. A restored copy
	// gets a name of its own, because that is what keeps the validators of its
	// lists apart from those of the original, which may have gone on.
	Dataset Dataset `json:"dataset"`
	// Revision is the moment of the copy in the order of writes.
	Revision       petcat.Revision `json:"revision"`
	AccessRevision petcat.Revision `json:"access_revision"` // the last one that changed an account, a key or a ban
	// The last numbers given out, which are never given again.
	LastCategory petcat.CategoryID `json:"last_category"`
	LastAccount  petcat.AccountID  `json:"last_account"`
	LastKey      petcat.KeyID      `json:"last_key"`
	LastPet      petcat.PetID      `json:"last_pet"`   // since format 2
	LastOrder    petcat.OrderID    `json:"last_order"` // since format 2
	// Rows is how many rows there are of each kind.
	Rows map[Kind]int64 `json:"rows"`
}

// Dataset names a set of data.
type Dataset string

// String returns the name.
func (d Dataset) String() string { return string(d) }

// Total returns how many rows there are of all kinds.
func (h Header) Total() (total int64) {
	for _, n := range h.Rows {
		total += n
	}
	return total
}

// AuditRestore is the action of the audit entry that a restore leaves. Its subject
// is the dataset that the backup was made of.
const AuditRestore = "data.restore"

// Detail is what that entry tells.
func (h Header) Detail() map[string]any {
	return map[string]any{
		"taken_at": h.TakenAt.UTC().Format(time.RFC3339), "petcat": h.Program, "revision": h.Revision,
		"accounts": h.Rows[Accounts], "keys": h.Rows[Keys], "categories": h.Rows[Categories],
	}
}

// Source is a store that can be copied.
type Source interface {
	// Backup tells everything as of one moment, while others may go on writing.
	// It stops at the first error of the sink.
	Backup(ctx context.Context, to Sink) error
}

// PacedSource is a store that can also be copied beside requests, which hardly notice.
type PacedSource interface {
	Source
	// BackupPaced is Backup, but it calls rest after each few milliseconds of work, and
	// stops at the first error of it. file is the path of the file that the caller
	// writes: a copy of the data may lie beside it meanwhile, as another draft of it.
	BackupPaced(ctx context.Context, file string, rest func() error, to Sink) error
}

// Sink takes what a [Source] tells: first the header, then every row, in the order
// of [Kinds] and, within a kind, of the row's own key. The values belong to the
// caller again when Row returns.
type Sink interface {
	Begin(h Header) error
	Row(k Kind, values []any) error
}

// Target is a store that can be filled.
type Target interface {
	// Restore fills an empty store with everything that a reader has, in one
	// transaction that commits only after the reader found the file whole, and
	// appends an audit entry. It returns [ErrNotEmpty], [ErrInUse], an error of the
	// reader, or the store's; after any of them but [ErrUnknown], nothing was
	// written.
	Restore(ctx context.Context, by petcat.Actor, from *Reader) error
}

// Why a restore failed.
var (
	ErrNotEmpty = errors.New("there is data already")
	ErrInUse    = errors.New("a server uses the data")
	// ErrUnknown says that the commit was sent and its answer lost.
	ErrUnknown = errors.New("it is unknown whether the restore was committed")
)

// ErrorKind says what is wrong with a file.
type ErrorKind string

// The kinds of errors.
const (
	Foreign ErrorKind = "foreign" // not a backup of petcat
	Newer   ErrorKind = "newer"   // of a newer format
	Damaged ErrorKind = "damaged" // cut or altered
	Faulty  ErrorKind = "faulty"  // whole, and yet it holds what a store never writes
)

// Error says that a file cannot be used.
type Error struct {
	Kind ErrorKind
	// Message completes a sentence that begins with the file's name.
	Message string
}

// Error returns the message.
func (e *Error) Error() string { return "the backup " + e.Message }

func damagedf(format string, args ...any) error {
	return &Error{Kind: Damaged, Message: "is cut or damaged (" + fmt.Sprintf(format, args...) + "); use another copy"}
}
