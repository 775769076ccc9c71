package server

import (
	"errors"
	"testing"
	"time"

	"petcat"
	"petcat/internal/clocktest"
	"petcat/internal/pgtest"
)

// failingWriter is a log whose disk is full.
type failingWriter struct{}

func (failingWriter) Write([]byte) (int, error) { return 0, errors.New("no room") }

func TestMetricsOfALogThatIsLost(t *testing.T) {
	t.Parallel()
	n := startTestNode(t, func(o *Options) { *o = testOptions(t, o.Settings.Data, failingWriter{}) })
	n.Log.Warn("a line that is lost")
	n.Log.Flush()
	if metric(t, n.metrics, "petcat_log_writes_lost_total") == 0 {
		t.Error("the metrics do not tell of lines that are lost")
	}
}

// A clock that differs from the database's, and so from those of the other nodes.
func TestMetricsOfAClockThatIsAhead(t *testing.T) {
	t.Parallel()
	var server pgtest.Shared
	t.Cleanup(server.Remove)
	n := startTestNode(t, func(o *Options) {
		o.Settings.Database, o.Clock = petcat.NewSecret(server.Database(t)), clocktest.NewManual(time.Now().Add(time.Hour))
	})
	n.awaitMetric(t, "petcat_clock_ahead_of_database_seconds", 3000)
}
