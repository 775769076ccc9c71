package importer

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"petcat/internal/osfile"
)

// keyLife is how long a row is sent again with its idempotency key. The service keeps the
// key for 24 hours.
const keyLife = 23 * time.Hour

// The errors of [OpenJournal].
var (
	ErrInUse        = errors.New("another import uses the journal")
	ErrNoJournal    = errors.New("the file is not the journal of an import, or it was changed")
	ErrOtherService = errors.New("the journal belongs to an import into another service")
	ErrOtherKey     = errors.New("the journal belongs to an import with another key")
)

// Owner is the service and key of a journal, which belongs to imports with these.
type Owner struct {
	Service string // the URL
	Key     string // names the API key without showing it
}

// NewOwner returns the owner with a URL and an API key.
func NewOwner(service, key string) Owner {
	// A key has 190 random bits, so it cannot be found from its hash.
	sum := sha256.Sum256([]byte("petcat import\x00" + key))
	return Owner{Service: service, Key: hex.EncodeToString(sum[:8])}
}

// Journal records the outcome of rows. It is a file to which lines of JSON are appended:
//
//	{"journal":1,"service":"https://…/v1","key":"6f1e…"}       the owner of the journal
//	{"row":"9a3c…","key":"TPGV…","at":1795216380}              the row is about to be sent with this key
//	{"row":"9a3c…","id":17}                                    the row is category 17
//	{"row":"9a3c…","withdrawn":true}                           the row was certainly not created
//
// A line of the second kind is on disk before the request is sent. Lines of the last two
// kinds may be lost: the outcome of the row is then unknown. One process at a time may have
// the journal open.
type Journal struct {
	file  *os.File
	owner Owner

	mu         sync.Mutex
	categories map[rowID]int64 // guarded by mu: which rows are which
	sent       map[rowID]sent  // guarded by mu: whose outcome is unknown
	last       int64           // guarded by mu: the highest id
	failed     error           // guarded by mu: why nothing more can be written
}

// sent is a row whose outcome is unknown.
type sent struct {
	key   string // the idempotency key
	at    time.Time
	after int64 // an id that existed before the row was sent: that of its category is higher
}

// version is the version of the journal's format.
const version = 1

// record is a line.
type record struct {
	Journal int    `json:"journal,omitempty"` // the version
	Service string `json:"service,omitempty"`

	Row       string `json:"row,omitempty"`
	Key       string `json:"key,omitempty"`
	At        int64  `json:"at,omitempty"` // Unix seconds
	ID        int64  `json:"id,omitempty"`
	Withdrawn bool   `json:"withdrawn,omitempty"`
}

// OpenJournal opens the journal of an owner, or creates it. If another process has it open,
// the error is [ErrInUse]; if it is no journal, [ErrNoJournal]. If it has another owner, the
// error is [ErrOtherService] or [ErrOtherKey], unless same says that both owners are the
// same account: then it belongs to the new owner from now on. Rows whose outcome is unknown
// are then not sent again with their idempotency keys, because those would not work if the
// account was another one after all.
func OpenJournal(path string, owner Owner, same bool) (j *Journal, err error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	j = &Journal{file: file, categories: map[rowID]int64{}, sent: map[rowID]sent{}}
	defer func() {
		if err != nil {
			_ = file.Close() // nothing was written
		}
	}()
	if err := osfile.TryLock(file); errors.Is(err, osfile.ErrLocked) {
		return nil, ErrInUse
	} else if err != nil {
		return nil, fmt.Errorf("lock the journal: %w", err)
	}
	if err := j.load(); err != nil {
		return nil, err
	}
	switch {
	case j.owner == owner:
		return j, nil
	case j.owner == Owner{}:
		err = osfile.SyncDirectory(filepath.Dir(path))
	case same:
	case j.owner.Service != owner.Service:
		return nil, fmt.Errorf("%w: %s", ErrOtherService, j.owner.Service)
	default:
		return nil, ErrOtherKey
	}
	if err == nil {
		err = errors.Join(j.write(record{Journal: version, Service: owner.Service, Key: owner.Key}), j.sync())
	}
	return j, err
}

// category returns the id of a row's category, 0 if none is known.
func (j *Journal) category(id rowID) int64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.categories[id]
}

// pending returns the idempotency key of a row whose outcome is unknown, "" for others.
func (j *Journal) pending(id rowID) string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.sent[id].key
}

// begin records that rows are about to be sent, and returns when that is on disk.
func (j *Journal) begin(rows []attempt, at time.Time) error {
	var records []record
	for _, a := range rows {
		if !a.again {
			records = append(records, record{Row: a.id.String(), Key: a.key, At: at.Unix()})
		}
	}
	if err := j.write(records...); err != nil {
		return err
	}
	return j.sync()
}

// created records the id of a row's category.
func (j *Journal) created(id rowID, category int64) error {
	return j.write(record{Row: id.String(), ID: category})
}

// withdraw records that rows were certainly not created.
func (j *Journal) withdraw(rows ...rowID) error {
	records := make([]record, 0, len(rows))
	for _, id := range rows {
		records = append(records, record{Row: id.String(), Withdrawn: true})
	}
	return j.write(records...)
}

// write appends records in one write. After an error it writes nothing more: a part of a
// line may have been written, and load accepts that only at the end of the file.
func (j *Journal) write(records ...record) error {
	if len(records) == 0 {
		return nil
	}
	var lines bytes.Buffer
	e := json.NewEncoder(&lines)
	for _, r := range records {
		if err := e.Encode(r); err != nil {
			return err
		}
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.failed != nil {
		return j.failed
	}
	if _, err := j.file.Write(lines.Bytes()); err != nil {
		j.failed = fmt.Errorf("write the journal: %w", err)
		return j.failed
	}
	for _, r := range records {
		j.learn(r)
	}
	return nil
}

// sync returns when everything that was written is on disk.
func (j *Journal) sync() error {
	if err := j.file.Sync(); err != nil {
		j.mu.Lock()
		defer j.mu.Unlock()
		j.failed = fmt.Errorf("write the journal: %w", err)
		return j.failed
	}
	return nil
}

// Close closes the journal, and unlocks it for other processes.
func (j *Journal) Close() error { return j.file.Close() }
