package logging

import (
	"log/slog"
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"petcat"
)

// Access is one line of the access log: one request and what became of it.
type Access struct {
	At        time.Time
	RequestID string
	Method    string
	Path      string // without the query, which may hold what should not be in a log
	Operation petcat.OperationID
	Status    int
	Code      petcat.Code // "" unless the answer is an error
	Account   petcat.AccountID
	Key       petcat.KeyID
	Address   string
	Duration  time.Duration
	Bytes     int64 // of the answer's body
}

// Access writes one line. It is written by hand because every request pays for
// it: the same line through slog costs about twice as much.
func (l *Log) Access(a *Access) {
	if l.level > slog.LevelInfo {
		return
	}
	l.buffer.append(func(dst []byte) []byte {
		if l.format == JSON {
			return a.appendJSON(dst, &l.stamp)
		}
		return a.appendText(dst, &l.stamp)
	})
}

func (a *Access) appendJSON(dst []byte, stamp *stamp) []byte {
	dst = append(dst, `{"time":"`...)
	dst = stamp.append(dst, a.At)
	dst = append(dst, `","level":"INFO","msg":"request","request_id":"`...)
	dst = append(dst, a.RequestID...)
	dst = append(dst, `","method":`...)
	dst = appendSent(dst, a.Method, maxMethod)
	dst = append(dst, `,"path":`...)
	dst = appendSent(dst, a.Path, maxPath)
	if a.Operation != "" {
		dst = append(dst, `,"operation":"`...)
		dst = append(dst, a.Operation...)
		dst = append(dst, '"')
	}
	dst = append(dst, `,"status":`...)
	dst = strconv.AppendInt(dst, int64(a.Status), 10)
	if a.Code != "" {
		dst = append(dst, `,"code":"`...)
		dst = append(dst, a.Code...)
		dst = append(dst, '"')
	}
	if a.Account != 0 {
		dst = append(dst, `,"account":"acct_`...)
		dst = strconv.AppendInt(dst, int64(a.Account), 10)
		dst = append(dst, `","key":"key_`...)
		dst = strconv.AppendInt(dst, int64(a.Key), 10)
		dst = append(dst, '"')
	}
	dst = append(dst, `,"address":`...)
	dst = appendQuoted(dst, a.Address)
	dst = append(dst, `,"duration_us":`...)
	dst = strconv.AppendInt(dst, a.Duration.Microseconds(), 10)
	dst = append(dst, `,"bytes":`...)
	dst = strconv.AppendInt(dst, a.Bytes, 10)
	return append(dst, "}\n"...)
}

func (a *Access) appendText(dst []byte, stamp *stamp) []byte {
	dst = append(dst, "time="...)
	dst = stamp.append(dst, a.At)
	dst = append(dst, " level=INFO msg=request request_id="...)
	dst = append(dst, a.RequestID...)
	dst = append(dst, " method="...)
	dst = appendSent(dst, a.Method, maxMethod)
	dst = append(dst, " path="...)
	dst = appendSent(dst, a.Path, maxPath)
	if a.Operation != "" {
		dst = append(dst, " operation="...)
		dst = append(dst, a.Operation...)
	}
	dst = append(dst, " status="...)
	dst = strconv.AppendInt(dst, int64(a.Status), 10)
	if a.Code != "" {
		dst = append(dst, " code="...)
		dst = append(dst, a.Code...)
	}
	if a.Account != 0 {
		dst = append(dst, " account=acct_"...)
		dst = strconv.AppendInt(dst, int64(a.Account), 10)
		dst = append(dst, " key=key_"...)
		dst = strconv.AppendInt(dst, int64(a.Key), 10)
	}
	dst = append(dst, " address="...)
	dst = appendQuoted(dst, a.Address)
	dst = append(dst, " duration_us="...)
	dst = strconv.AppendInt(dst, a.Duration.Microseconds(), 10)
	dst = append(dst, " bytes="...)
	dst = strconv.AppendInt(dst, a.Bytes, 10)
	return append(dst, '\n')
}

// appendQuoted appends a text that a caller chose, quoted and escaped, so that
// no caller can forge a line or send control codes to a terminal.
func appendQuoted(dst []byte, s string) []byte {
	for i := 0; i < len(s); i++ {
		if s[i] < ' ' || s[i] > '~' || s[i] == '"' || s[i] == '\\' {
			return appendEscaped(dst, s)
		}
	}
	dst = append(dst, '"')
	dst = append(dst, s...)
	return append(dst, '"')
}

// appendEscaped appends a text as Go writes it, in ASCII, quoted once more as
// JSON does: what is not UTF-8 keeps its bytes that way, as \xff.
func appendEscaped(dst []byte, s string) []byte {
	ascii := strconv.QuoteToASCII(s)
	quoted, err := jsontext.AppendQuote(dst, ascii[1:len(ascii)-1])
	if err != nil {
		return append(dst, `""`...)
	}
	return quoted
}
