package server

import (
	"testing"
	"time"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/clocktest"
	"github.com/petcat-api/petcat/internal/pgtest"
)

func TestClockOffsetMetric(t *testing.T) {
	t.Parallel()
	var server pgtest.Shared
	t.Cleanup(server.Remove)
	n := startTestNode(t, func(o *Options) {
		o.Settings.Database = petcat.NewSecret(server.Database(t))
		o.Clock = clocktest.NewManual(time.Now().Add(time.Hour))
	})
	n.awaitMetric(t, "petcat_clock_ahead_of_database_seconds", 3000)
}
