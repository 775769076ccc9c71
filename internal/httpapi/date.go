package httpapi

import (
	"net/http"
	"sync/atomic"
	"time"

	"petcat/internal/clock"
)

// dates formats the Date header once per second. net/http would read the clock and format
// the date for each answer.
type dates struct{ last atomic.Pointer[date] }

type date struct {
	second int64
	value  []string
}

// of returns the value of the header at the given time.
func (d *dates) of(now clock.Reading) []string {
	second := now.Wall / int64(time.Second)
	last := d.last.Load()
	if last == nil || last.second != second {
		last = &date{second: second, value: []string{now.Time().Format(http.TimeFormat)}}
		d.last.Store(last)
	}
	return last.value
}
