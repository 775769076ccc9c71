package logging

import "time"

// stamp writes times, and keeps the text of the last second: among the lines of
// one second only the fraction differs.
type stamp struct {
	second int64
	text   [len(stampLayout)]byte
}

const stampLayout = "2006-01-02T15:04:05."

// append appends t to dst as RFC 3339 in UTC, to the microsecond.
func (s *stamp) append(dst []byte, t time.Time) []byte {
	if second := t.Unix(); second != s.second || s.text[0] == 0 {
		s.second = second
		t.UTC().AppendFormat(s.text[:0], stampLayout)
	}
	dst = append(dst, s.text[:]...)
	micros := t.Nanosecond() / int(time.Microsecond)
	for unit := 100_000; unit > 0; unit /= 10 {
		dst = append(dst, '0'+byte(micros/unit%10))
	}
	return append(dst, 'Z')
}
