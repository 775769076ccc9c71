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
// it: through slog's handler the same line takes eight times as long.
func (l *Log) Access(a *Access) {
	if l.level.Level() > slog.LevelInfo {
		return
	}
	l.buffer.append(func(dst []byte) []byte { return a.append(dst, l.format, &l.stamp) })
}

// stamp appends times. It keeps the text of a second: the lines of one second differ
// only in its fraction, and the rest would take a quarter of the time of a line.
type stamp struct {
	second int64
	text   []byte
}

// append appends a time as RFC 3339 in UTC, to the microsecond, with all six digits.
func (s *stamp) append(dst []byte, t time.Time) []byte {
	if second := t.Unix(); second != s.second || s.text == nil {
		s.second, s.text = second, t.UTC().AppendFormat(s.text[:0], "2006-01-02T15:04:05.")
	}
	dst = append(dst, s.text...)
	micros := t.Nanosecond() / int(time.Microsecond)
	for unit := 100_000; unit > 0; unit /= 10 {
		dst = append(dst, '0'+byte(micros/unit%10))
	}
	return append(dst, 'Z')
}

func (a *Access) append(dst []byte, f Format, s *stamp) []byte {
	dst = f.pick(dst, "time=", `{"time":"`)
	dst = s.append(dst, a.At)
	dst = f.pick(dst, " level=INFO msg=request request_id=", `","level":"INFO","msg":"request","request_id":"`)
	dst = append(dst, a.RequestID...)
	dst = f.pick(dst, " method=", `","method":`)
	dst = appendSent(dst, a.Method, maxMethod)
	dst = f.pick(dst, " path=", `,"path":`)
	dst = appendSent(dst, a.Path, maxPath)
	if a.Operation != "" {
		dst = f.pick(dst, " operation=", `,"operation":"`)
		dst = append(dst, a.Operation...)
		dst = f.pick(dst, "", `"`)
	}
	if a.Deprecated {
		dst = f.pick(dst, " deprecated=true", `,"deprecated":true`)
	}
	dst = f.pick(dst, " status=", `,"status":`)
	dst = strconv.AppendInt(dst, int64(a.Status), 10)
	if a.Code != "" {
		dst = f.pick(dst, " code=", `,"code":"`)
		dst = append(dst, a.Code...)
		dst = f.pick(dst, "", `"`)
	}
	if a.Account != 0 {
		dst = f.pick(dst, " account=acct_", `,"account":"acct_`)
		dst = strconv.AppendInt(dst, int64(a.Account), 10)
		dst = f.pick(dst, " key=key_", `","key":"key_`)
		dst = strconv.AppendInt(dst, int64(a.Key), 10)
		dst = f.pick(dst, "", `"`)
	}
	dst = f.pick(dst, " address=", `,"address":`)
	dst = appendSent(dst, a.Address, maxAddress)
	dst = f.pick(dst, " duration_us=", `,"duration_us":`)
	dst = strconv.AppendInt(dst, a.Duration.Microseconds(), 10)
	dst = f.pick(dst, " bytes=", `,"bytes":`)
	dst = strconv.AppendInt(dst, a.Bytes, 10)
	return f.pick(dst, "\n", "}\n")
}

// pick appends what stands before, between or behind the values of a line.
func (f Format) pick(dst []byte, text, json string) []byte {
	if f == JSON {
		return append(dst, json...)
	}
	return append(dst, text...)
}
