package e2e

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// commandsVariable asks for more commands than a quick look takes: make torture
// does.
const commandsVariable = "PETCAT_TORTURE_COMMANDS"

// TestCommandsBesideABusyServer: however many clients create, a management command
// is done within a second, its start included.
func TestCommandsBesideABusyServer(t *testing.T) {
	commands := 40
	if more := os.Getenv(commandsVariable); more != "" {
		var err error
		commands, err = strconv.Atoi(more)
		must(t, err)
	}
	data := filepath.Join(t.TempDir(), "data")
	s := serve(t, data)
	key := newCaller(t, data)
	created, stop := createEndlessly(t, s, key, 128)
	eventually(t, 20*time.Second, "the clients create", func() bool { return created.Load() > 1000 })

	var took []time.Duration
	control := s.control()
	begun, before := time.Now(), created.Load()
	for i := range commands {
		name := "account" + strconv.Itoa(i)
		args := [][]string{
			{"account", "create", name, "--plan", "free"},
			{"key", "create", "account" + strconv.Itoa(i-1)},
			{"account", "set-plan", "account" + strconv.Itoa(i-2), "pro"},
			{"account", "list", "--json"},
		}[i%4]
		control.Lap()
		start := time.Now()
		if code, _, errs := petcatRuns(t, append(args, placeFlags(data)...)...); code != exitDone {
			t.Errorf("petcat %s: exit code %d after %s: %s", strings.Join(args, " "), code, time.Since(start), errs)
		}
		took = append(took, time.Since(start))
		control.Judge(strings.Join(args, " "), took[i], time.Second)
	}
	rate := float64(created.Load()-before) / time.Since(begun).Seconds()
	stop()
	slices.Sort(took)
	t.Logf("%d commands beside %.0f creates/s: %s (median), %s (slowest)", commands, rate, took[len(took)/2], took[len(took)-1])
}

// createEndlessly lets so many clients create until stop is called. created counts
// what was acknowledged; anything but 201 is an error.
func createEndlessly(t *testing.T, s *server, key string, clients int) (created *atomic.Int64, stop func()) {
	t.Helper()
	created = &atomic.Int64{}
	transport := &http.Transport{MaxIdleConnsPerHost: clients}
	client := &http.Client{Transport: transport, Timeout: 30 * time.Second}
	ctx, cancel := context.WithCancel(t.Context())
	var group sync.WaitGroup
	for range clients {
		group.Go(func() {
			for ctx.Err() == nil {
				a, err := (&server{client: client}).try(http.MethodPost, s.api+"/v1/categories", strings.NewReader(categoryBody("pet")), withKey(key),
					func(r *http.Request) { *r = *r.WithContext(ctx) })
				switch {
				case errors.Is(err, context.Canceled):
				case err != nil:
					t.Error(err)
					return
				case a.StatusCode != http.StatusCreated:
					t.Errorf("a create got %d %s", a.StatusCode, a.body)
				default:
					created.Add(1)
				}
			}
		})
	}
	return created, func() {
		cancel()
		group.Wait()
		transport.CloseIdleConnections()
	}
}
