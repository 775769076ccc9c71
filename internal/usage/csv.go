package usage

import (
	"encoding/csv"
	"io"
	"strconv"
	"time"

	"github.com/petcat-api/petcat"
)

// WriteCSV writes the periods of a usage history as CSV with a header.
func WriteCSV(to io.Writer, h petcat.UsageHistory) error {
	w := csv.NewWriter(to)
	_ = w.Write([]string{ // w.Error returns the error
		"begin",
		"requests",
		"minute_rejected",
		"day_rejected",
		"ban_rejected",
		"key_rejected",
		"failed",
		"bytes",
		"incomplete",
	})
	for _, p := range h.Periods {
		row := []string{p.Begin.UTC().Format(time.RFC3339)}
		for _, n := range []int64{p.Requests, p.MinuteRejected, p.DayRejected, p.BanRejected, p.KeyRejected, p.Failed, p.Bytes} {
			row = append(row, strconv.FormatInt(n, 10))
		}
		_ = w.Write(append(row, strconv.FormatBool(p.Incomplete)))
	}
	w.Flush()
	return w.Error()
}
