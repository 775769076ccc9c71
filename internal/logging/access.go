package logging

import (
	"log/slog"
	"strconv"
	"time"

	"petcat"
)

// Access is one line of the access log: one request and what became of it.
type Access struct {
	At        time.Time
	RequestID string
	Method    string
	Path      string // without the query, which may hold what should not be in a log
	Operation petcat.OperationID
	// Deprecated tells that the operation is deprecated. The line then says so: with
	// its account, it is how an operator finds out who has to change.
	Deprecated bool
	Status     int
	Code       petcat.Code // "" unless the answer is an error
	Account    petcat.AccountID
	Key        petcat.KeyID
	Address    string
	Duration   time.Duration
	Bytes      int64 // of the answer's body
}

// Access writes one line. It is written by hand because every request pays for
// it: through slog's handler the same line takes six times as long.
func (l *Log) Access(a *Access) {
	if l.level.Level() > slog.LevelInfo {
		return
	}
	l.buffer.append(func(dst []byte) []byte { return a.append(dst, l.format) })
}

// appendTime appends a time as RFC 3339 in UTC, to the microsecond. The format of
// package time that is fast leaves zeros out at the end: a tenth of a microsecond
// more keeps them, and is cut off.
func appendTime(dst []byte, t time.Time) []byte {
	micros := len(dst) + len("2006-01-02T15:04:05.000000")
	dst = t.UTC().Truncate(time.Microsecond).Add(time.Microsecond/10).AppendFormat(dst, time.RFC3339Nano)
	return append(dst[:micros], 'Z')
}

func (a *Access) append(dst []byte, f Format) []byte {
	begin, middle, end := "time=", " level=INFO msg=request", "\n"
	if f == JSON {
		begin, middle, end = `{"time":"`, `","level":"INFO","msg":"request"`, "}\n"
	}
	dst = append(dst, begin...)
	dst = appendTime(dst, a.At)
	dst = append(dst, middle...)
	dst = f.appendWord(dst, "request_id", a.RequestID)
	dst = appendSent(f.appendName(dst, "method"), a.Method, maxMethod)
	dst = appendSent(f.appendName(dst, "path"), a.Path, maxPath)
	if a.Operation != "" {
		dst = f.appendWord(dst, "operation", string(a.Operation))
	}
	if a.Deprecated {
		dst = append(f.appendName(dst, "deprecated"), "true"...)
	}
	dst = f.appendNumber(dst, "status", int64(a.Status))
	if a.Code != "" {
		dst = f.appendWord(dst, "code", string(a.Code))
	}
	if a.Account != 0 {
		dst = f.appendID(dst, "account", "acct_", int64(a.Account))
		dst = f.appendID(dst, "key", "key_", int64(a.Key))
	}
	dst = appendSent(f.appendName(dst, "address"), a.Address, maxAddress)
	dst = f.appendNumber(dst, "duration_us", a.Duration.Microseconds())
	dst = f.appendNumber(dst, "bytes", a.Bytes)
	return append(dst, end...)
}

func (f Format) appendName(dst []byte, name string) []byte {
	if f == JSON {
		return append(append(append(dst, `,"`...), name...), `":`...)
	}
	return append(append(append(dst, ' '), name...), '=')
}

// appendWord appends a value of ours, which has nothing in it to escape.
func (f Format) appendWord(dst []byte, name, word string) []byte {
	return f.appendQuote(append(f.appendQuote(f.appendName(dst, name)), word...))
}

func (f Format) appendID(dst []byte, name, prefix string, id int64) []byte {
	dst = append(f.appendQuote(f.appendName(dst, name)), prefix...)
	return f.appendQuote(strconv.AppendInt(dst, id, 10))
}

func (f Format) appendQuote(dst []byte) []byte {
	if f == JSON {
		return append(dst, '"')
	}
	return dst
}

func (f Format) appendNumber(dst []byte, name string, n int64) []byte {
	return strconv.AppendInt(f.appendName(dst, name), n, 10)
}
