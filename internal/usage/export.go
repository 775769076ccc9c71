package usage

import (
	"bufio"
	"encoding/csv"
	"io"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/petcat-api/petcat"
)

// Export writes accounts' usage by hour and operation. Close returns the first error.
type Export struct {
	to      *bufio.Writer
	csv     *csv.Writer // nil for CloudEvents
	dataset string
}

// NewExport returns an export as CSV with a header, or as CloudEvents 1.0 in JSON, one a line.
func NewExport(to io.Writer, cloudEvents bool, dataset string) *Export {
	x := &Export{to: bufio.NewWriter(to), dataset: dataset}
	if !cloudEvents {
		x.csv = csv.NewWriter(x.to)
		_ = x.csv.Write([]string{"hour", "account", "operation", "requests", "rejected", "failed"})
	}
	return x
}

// Write writes rows.
func (x *Export) Write(rows []petcat.OperationUsage) {
	for _, u := range rows {
		if x.csv != nil {
			_ = x.csv.Write([]string{
				u.Hour.Format(time.RFC3339),
				u.Account.String(),
				string(u.Operation),
				strconv.FormatInt(u.Requests, 10),
				strconv.FormatInt(u.Rejected, 10),
				strconv.FormatInt(u.Failed, 10),
			})
			continue
		}
		_ = json.MarshalWrite(x.to, x.event(u)) // the writer keeps its error
		_ = x.to.WriteByte('\n')
	}
}

// Close writes what is buffered.
func (x *Export) Close() error {
	if x.csv != nil {
		x.csv.Flush()
		if err := x.csv.Error(); err != nil {
			return err
		}
	}
	return x.to.Flush()
}

// event is a CloudEvent.
type event struct {
	SpecVersion     string    `json:"specversion"`
	ID              string    `json:"id"`
	Source          string    `json:"source"`
	Type            string    `json:"type"`
	Subject         string    `json:"subject"`
	Time            string    `json:"time"`
	DataContentType string    `json:"datacontenttype"`
	Data            eventData `json:"data"`
}

type eventData struct {
	Account   string `json:"account"`
	Operation string `json:"operation"`
	Requests  int64  `json:"requests"`
	Rejected  int64  `json:"rejected"`
	Failed    int64  `json:"failed"`
}

// event returns the event of a row. Its id is the same whenever the row is exported.
func (x *Export) event(u petcat.OperationUsage) event {
	hour, account := u.Hour.Format(time.RFC3339), u.Account.String()
	return event{
		SpecVersion:     "1.0",
		ID:              x.dataset + "/" + account + "/" + hour + "/" + string(u.Operation),
		Source:          "/petcat/" + x.dataset,
		Type:            "petcat.usage",
		Subject:         account,
		Time:            hour,
		DataContentType: "application/json",
		Data: eventData{
			Account:   account,
			Operation: string(u.Operation),
			Requests:  u.Requests,
			Rejected:  u.Rejected,
			Failed:    u.Failed,
		},
	}
}
