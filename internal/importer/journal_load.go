package importer

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
)

// maxRecord is more than any line of a journal has, in bytes: its URL is the longest.
const maxRecord = 64 << 10

// load reads the journal. If the process was killed while it wrote a line, the end of the
// last line is missing. A power cut may leave zeros instead of data that was not on disk
// yet, even before data that was. No request relied on anything from there on, so load
// removes it.
func (j *Journal) load() error {
	in := bufio.NewReaderSize(j.file, maxRecord)
	whole := int64(0) // bytes of whole lines
	for number := 1; ; number++ {
		line, err := in.ReadSlice('\n')
		zeros := number > 1 && bytes.IndexByte(line, 0) >= 0 // which JSON escapes
		switch {
		case errors.Is(err, io.EOF) && len(line) == 0:
			_, err := j.file.Seek(whole, io.SeekStart)
			return err
		case errors.Is(err, io.EOF), zeros:
			if number == 1 && !begins(line) {
				return ErrNoJournal
			}
			_, seekErr := j.file.Seek(whole, io.SeekStart)
			return errors.Join(j.file.Truncate(whole), seekErr)
		case errors.Is(err, bufio.ErrBufferFull):
			return fmt.Errorf("line %d: %w", number, ErrNoJournal)
		case err != nil:
			return fmt.Errorf("read the journal: %w", err)
		}
		var r record
		if json.Unmarshal(line, &r) != nil || !j.valid(r) {
			return fmt.Errorf("line %d: %w", number, ErrNoJournal)
		}
		j.learn(r)
		whole += int64(len(line))
	}
}

// begins reports whether a part of a line may be the beginning of a journal's first line.
// load must not truncate any other file.
func begins(part []byte) bool {
	const first = `{"journal":`
	n := min(len(part), len(first))
	return bytes.Equal(part[:n], []byte(first[:n])) || len(bytes.Trim(part, "\x00")) == 0
}

// valid reports whether a record may follow those that were read.
func (j *Journal) valid(r record) bool {
	if r.Journal != 0 {
		return r.Journal == version && r.Service != "" && r.Key != ""
	}
	id, ok := parseRowID(r.Row)
	_, known := j.sent[id]
	switch {
	case !ok, j.owner == Owner{}:
		return false
	case r.ID != 0, r.Withdrawn:
		return known
	default:
		return r.Key != "" && r.At != 0
	}
}

// learn applies a valid record. The caller holds mu, or is the only user.
func (j *Journal) learn(r record) {
	if r.Journal != 0 {
		j.owner = Owner{Service: r.Service, Key: r.Key}
		// Their idempotency keys may belong to another account, so they must not be used.
		for id, s := range j.sent {
			s.at = time.Time{}
			j.sent[id] = s
		}
		return
	}
	id, _ := parseRowID(r.Row) // valid has checked it
	switch {
	case r.ID != 0:
		j.categories[id] = r.ID
		j.last = max(j.last, r.ID)
		delete(j.sent, id)
	case r.Withdrawn:
		delete(j.sent, id)
	default:
		j.sent[id] = sent{key: r.Key, at: time.Unix(r.At, 0), after: j.last}
	}
}
