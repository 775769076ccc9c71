package server

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"petcat"
	"petcat/internal/clocktest"
	"petcat/internal/config"
	"petcat/internal/logging"
	"petcat/internal/metrics"
)

// TestDrainedNode: an operator takes a node out of rotation, and brings it back. Its label is
// in the log and the metrics.
func TestDrainedNode(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	o := testOptions(t, filepath.Join(t.TempDir(), "data"), &log)
	o.Settings.NodeName = "web"
	n := must(Start(t.Context(), o))
	for _, c := range []struct {
		drained bool
		state   string
	}{{true, "drained"}, {false, "ready"}} {
		if err := n.store.DrainNode(t.Context(), "test", "web", c.drained); err != nil {
			t.Fatal(err)
		}
		n.beat(t.Context()) // learns that it is drained
		n.beat(t.Context()) // and says so
		if r, ready := n.readiness(); r.Status != c.state || ready == c.drained {
			t.Errorf("drained %t: %+v, ready %t", c.drained, r, ready)
		}
		nodes := must(n.store.Nodes(t.Context()))
		if len(nodes) != 1 || nodes[0].State != c.state || nodes[0].Label != "web" || nodes[0].Version != "test" {
			t.Errorf("drained %t: the nodes are %+v", c.drained, nodes)
		}
	}
	if err := n.Shutdown(context.WithoutCancel(t.Context())); err != nil {
		t.Fatal(err)
	}
	o.Log.Flush()
	if !strings.Contains(log.String(), `msg="node drained or resumed" drained=true node=web`) {
		t.Errorf("the log says: %s", log.String())
	}
}

// shared is a database in which another node may have the wished label.
type shared struct {
	Store

	label string
}

func (s *shared) Beat(_ context.Context, n petcat.Node) ([]petcat.Node, error) {
	n.Label = s.label
	return []petcat.Node{n, {ID: "another"}}, nil
}

// TestLabelChanges: the label is another one for as long as another node has it.
func TestLabelChanges(t *testing.T) {
	t.Parallel()
	s := &shared{}
	l := must(listenOn(t.Context(), "admin-listen", "127.0.0.1:0"))
	_ = l.Close()
	n := &Node{Options: testOptions(t, "", io.Discard), id: "a", metrics: metrics.New("test", ""), store: s, apiSocket: &limitedListener{TCPListener: l}, adminSocket: &limitedListener{TCPListener: l}}
	n.Settings.NodeName = "web"
	n.nodes.Store(&[]petcat.Node{})
	for _, label := range []string{"web-2", "web"} {
		s.label = label
		n.beat(t.Context())
		if got := metric(t, n.metrics, `petcat_build_info{goversion="`+runtime.Version()+`",node="`+label+`",revision="",version="test"}`); got != 1 {
			t.Errorf("the label is not %s", label)
		}
	}
}

// setLevel is a store with a log level, or an error.
type setLevel struct {
	Store

	level slog.Level
	until time.Time
	err   error
}

func (s *setLevel) LogLevel(context.Context) (level slog.Level, until time.Time, err error) {
	return s.level, s.until, s.err
}

// TestLogLevelIsFollowed: a node logs at the level that an operator set until it expires, or
// later if the database is unavailable then. Each change is logged.
func TestLogLevelIsFollowed(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	log := logging.New(&out, slog.LevelInfo, logging.Text)
	c := clocktest.NewManual(time.Now())
	store := new(setLevel)
	n := &Node{Options: Options{Clock: c, Log: log, Settings: config.Settings{LogLevel: slog.LevelInfo}}, store: store}
	sets := func(level slog.Level, length time.Duration) {
		store.level, store.until = level, c.Read().Time().Add(length)
	}
	follows := func(when string, want slog.Level, line string) {
		t.Helper()
		n.followLogLevel(t.Context())
		log.Flush()
		if log.Level() != want || line == "" && out.Len() > 0 || !strings.Contains(out.String(), line) {
			t.Errorf("%s: the level is %s, want %s, and the log says %q", when, log.Level(), want, out.String())
		}
		out.Reset()
	}
	follows("nothing is set", slog.LevelInfo, "")
	sets(slog.LevelError, time.Hour)
	follows("a level that hides", slog.LevelError, "from=INFO to=ERROR")
	follows("the same", slog.LevelError, "")
	sets(slog.LevelDebug, time.Minute)
	follows("a level that shows", slog.LevelDebug, "from=ERROR to=DEBUG")
	store.err = errors.New("no answer")
	c.Advance(time.Minute)
	follows("no answer", slog.LevelDebug, "")
	store.err = nil
	follows("its end", slog.LevelInfo, "from=DEBUG to=INFO")
}

// TestScheduledBackupsAreTold: how the last one went, and how many failed.
func TestScheduledBackupsAreTold(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "backups")
	n := startTestNode(t, func(o *Options) {
		o.Settings.BackupEvery, o.Settings.BackupKeep, o.Settings.BackupDir = time.Second, 2, folder
	})
	begun := float64(time.Now().Unix())
	n.wantMetric(t, "petcat_backup_interval_seconds", 1)
	n.awaitMetric(t, "petcat_backup_last_success_timestamp_seconds", begun)
	n.awaitMetric(t, "petcat_backup_size_bytes", 100)
	n.awaitMetric(t, "petcat_backup_duration_seconds", 1e-6)
	n.wantMetric(t, "petcat_backup_failures_total", 0)
	if err := errors.Join(os.Rename(folder, folder+".away"), os.WriteFile(folder, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	n.awaitMetric(t, "petcat_backup_failures_total", 1)
}

// TestFolderThatCannotBeUsed: a wrong setting is told at the start.
func TestFolderThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	o := testOptions(t, filepath.Join(t.TempDir(), "data"), io.Discard)
	o.Settings.BackupEvery, o.Settings.BackupKeep, o.Settings.BackupDir = time.Hour, 1, filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(o.Settings.BackupDir, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Start(t.Context(), o)
	want := "scheduled backups cannot be written to " + o.Settings.BackupDir + " (not a directory); give this user write permission, or choose another directory with --backup-dir"
	if e, ok := errors.AsType[*config.Error](err); !ok || e.Error() != want {
		t.Errorf("the start ended with %v", err)
	}
}
