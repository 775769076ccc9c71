package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/clocktest"
	"github.com/petcat-api/petcat/internal/config"
	"github.com/petcat-api/petcat/internal/logging"
	"github.com/petcat-api/petcat/internal/metrics"
)

// TestDrainedNode: an operator can drain and resume a node. The log has the node's label.
func TestDrainedNode(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	o := testOptions(t, filepath.Join(t.TempDir(), "data"), &log)
	o.Settings.NodeName = "web"
	n := must(Start(t.Context(), o))
	h := &heartbeats{base: n.base, store: n.Store(), sockets: n.sockets, state: n.state}
	for _, c := range []struct {
		drained bool
		state   string
	}{{true, "drained"}, {false, "ready"}} {
		must(n.Store().DrainNode(t.Context(), petcat.By("test"), "web", c.drained))
		h.beat(t.Context()) // reads that it is drained
		h.beat(t.Context()) // writes its new state
		if r, ready := n.state.readiness(); r.Status != c.state || ready == c.drained {
			t.Errorf("drained %t: %+v, ready %t", c.drained, r, ready)
		}
		nodes := must(n.Store().Nodes(t.Context()))
		if len(nodes) != 1 || nodes[0].State != c.state || nodes[0].Label != "web" || nodes[0].Version != "test" {
			t.Errorf("drained %t: the nodes are %+v", c.drained, nodes)
		}
		urls := []string{nodes[0].AdminURL, nodes[0].ConsoleURL, nodes[0].PublicURL}
		if want := []string{n.AdminURL(), n.ConsoleURL(), n.PublicURL()}; !slices.Equal(urls, want) {
			t.Errorf("the URLs of the node are %q, want %q", urls, want)
		}
	}
	if err := n.Shutdown(context.WithoutCancel(t.Context())); err != nil {
		t.Fatal(err)
	}
	o.Log.Flush()
	if !strings.Contains(log.String(), `msg="drain state changed" drained=true node=web`) {
		t.Errorf("log: %s", log.String())
	}
}

// relabeling is a node store that assigns a label.
type relabeling struct {
	petcat.NodeStore

	label string
}

func (s *relabeling) Heartbeat(_ context.Context, n petcat.Node) ([]petcat.Node, error) {
	n.Label = s.label
	return []petcat.Node{n, {ID: "another"}}, nil
}

// TestLabelChange: the metrics follow a change of the node's label.
func TestLabelChange(t *testing.T) {
	t.Parallel()
	b := base{
		Options: testOptions(t, "", io.Discard),
		id:      "a",
		metrics: metrics.New("test", ""),
	}
	b.Settings.NodeName = "web"
	s := &relabeling{}
	h := &heartbeats{
		base:    b,
		store:   s,
		sockets: testSockets(t, b.Settings),
		state:   b.newState(),
	}
	for _, label := range []string{"web", "web-2", "web"} {
		s.label = label
		h.beat(t.Context())
		series := fmt.Sprintf(`petcat_build_info{goversion="%s",node="%s",revision="",version="test"}`,
			runtime.Version(), label)
		if got := metric(t, b.metrics, series); got != 1 {
			t.Errorf("the metrics do not have the label %s", label)
		}
	}
}

// setLevel is a store with a log level or an error.
type setLevel struct {
	level slog.Level
	until time.Time
	err   error
}

func (s *setLevel) LogLevel(context.Context) (level slog.Level, until time.Time, err error) {
	return s.level, s.until, s.err
}

// TestLogLevel: a node logs at the level that an operator set until it expires, or longer if the
// database is unavailable then. Each change is logged.
func TestLogLevel(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	log := logging.New(&out, slog.LevelInfo, logging.Text)
	c := clocktest.NewManual(time.Now())
	store := new(setLevel)
	b := base{Options: Options{
		Clock:    c,
		Log:      log,
		Settings: config.Settings{LogLevel: slog.LevelInfo},
	}}
	set := func(level slog.Level, length time.Duration) {
		store.level, store.until = level, c.Read().Time().Add(length)
	}
	wantLevel := func(when string, want slog.Level, line string) {
		t.Helper()
		b.followLogLevel(t.Context(), store)
		log.Flush()
		if log.Level() != want || line == "" && out.Len() > 0 || !strings.Contains(out.String(), line) {
			t.Errorf("%s: level %s, want %s; log: %q", when, log.Level(), want, out.String())
		}
		out.Reset()
	}
	wantLevel("no level is set", slog.LevelInfo, "")
	set(slog.LevelError, time.Hour)
	wantLevel("a higher level", slog.LevelError, "from=INFO to=ERROR")
	wantLevel("the same level", slog.LevelError, "")
	set(slog.LevelDebug, time.Minute)
	wantLevel("a lower level", slog.LevelDebug, "from=ERROR to=DEBUG")
	store.err = errors.New("unavailable")
	c.Advance(time.Minute)
	wantLevel("expired, store unavailable", slog.LevelDebug, "")
	store.err = nil
	wantLevel("expired", slog.LevelInfo, "from=DEBUG to=INFO")
}

// TestAuditHead: a node logs the audit log's head at every log level.
func TestAuditHead(t *testing.T) {
	t.Parallel()
	var log lockedBuffer
	o := testOptions(t, filepath.Join(t.TempDir(), "data"), &log)
	o.Log.SetLevel(slog.LevelError)
	n := startTestNode(t, func(started *Options) { *started = o })
	newKey(t, n.Store())
	n.logAuditHead(t.Context(), n.Store())
	o.Log.Flush()
	if !strings.Contains(log.String(), `msg="audit log head" head=2:`) {
		t.Errorf("log: %s", &log)
	}
}

// TestBackupMetrics: the metrics report the last scheduled backup, and failed backups.
func TestBackupMetrics(t *testing.T) {
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
	told := must(n.Store().Events(t.Context(), petcat.EventQuery{Limit: 1}))
	if len(told) == 0 || told[0].Type != petcat.EventBackupFailed {
		t.Errorf("the events are %+v, want one of the failed backup", told)
	}
}

// TestInvalidBackupDir: the start fails if the backup directory is invalid.
func TestInvalidBackupDir(t *testing.T) {
	t.Parallel()
	o := testOptions(t, filepath.Join(t.TempDir(), "data"), io.Discard)
	o.Settings.BackupEvery, o.Settings.BackupKeep = time.Hour, 1
	o.Settings.BackupDir = filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(o.Settings.BackupDir, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Start(t.Context(), o)
	want := "scheduled backups cannot be written to the directory of --backup-dir (PETCAT_BACKUP_DIR) (not a directory); " +
		"give this user write permission, or choose another directory"
	if e, ok := errors.AsType[*petcat.UnusableError](err); !ok || e.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// TestRetry: an outage of many attempts is two lines of the log.
func TestRetry(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		b := base{lifetime: newLifetime(t.Context())}
		b.Log = &logging.Log{Logger: slog.New(slog.NewTextHandler(&out, nil))}
		down := errors.New("down")
		outcomes := []error{nil, down, down, down, nil, nil}
		attempts := time.Duration(len(outcomes))
		b.retry(time.Second, "send events", func(context.Context) error {
			err := outcomes[0]
			outcomes = outcomes[1:]
			return err
		})
		time.Sleep(attempts * time.Second)
		synctest.Wait()
		must(0, b.lifetime.close(t.Context()))
		lines := strings.Split(strings.TrimSpace(out.String()), "\n")
		if len(lines) != 2 || !strings.Contains(lines[0], "failed; retrying") || !strings.Contains(lines[1], "succeeded again") {
			t.Errorf("the log is\n%s", &out)
		}
	})
}
