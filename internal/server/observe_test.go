package server

import (
	"errors"
	"testing"
	"time"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/clocktest"
	"github.com/petcat-api/petcat/internal/pgtest"
)

// failingWriter is a log on a full disk.
type failingWriter struct{}

func (failingWriter) Write([]byte) (int, error) { return 0, errors.New("no room") }

func TestLostLogWritesMetric(t *testing.T) {
	t.Parallel()
	n := startTestNode(t, func(o *Options) { *o = testOptions(t, o.Settings.Data, failingWriter{}) })
	n.Log.Warn("lost")
	n.Log.Flush()
	if metric(t, n.metrics, "petcat_log_writes_lost_total") == 0 {
		t.Error("the lost line is not counted")
	}
}

func TestClockOffsetMetric(t *testing.T) {
	t.Parallel()
	var server pgtest.Shared
	t.Cleanup(server.Remove)
	n := startTestNode(t, func(o *Options) {
		o.Settings.Database, o.Clock = petcat.NewSecret(server.Database(t)), clocktest.NewManual(time.Now().Add(time.Hour))
	})
	n.awaitMetric(t, "petcat_clock_ahead_of_database_seconds", 3000)
}
