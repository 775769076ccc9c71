package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
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
// is done within a second, its start included: of accounts, keys, bans, the audit log, usage
// and operators.
func TestCommandsBesideABusyServer(t *testing.T) {
	commands := 45
	if more := os.Getenv(commandsVariable); more != "" {
		var err error
		commands, err = strconv.Atoi(more)
		must(t, err)
	}
	data := filepath.Join(t.TempDir(), "data")
	s := serve(t, data)
	key := newCaller(t, data)
	unban := s.keepBanned(3)
	created, stop := createEndlessly(t, s, key, 128)
	eventually(t, 20*time.Second, "the clients create", func() bool { return created.Load() > 1000 })

	var took []time.Duration
	control := s.control()
	begun, before := time.Now(), created.Load()
	var of struct{ ID string } // the last key
	for i := range commands {
		const kinds = 15
		name, operator, banned := "account"+strconv.Itoa(i/kinds), "operator"+strconv.Itoa(i/kinds), ""
		if i%kinds == 8 {
			eventually(t, 20*time.Second, "a key is banned", func() bool { return len(s.bans()) > 0 })
			banned = s.bans()[0].Key
		}
		args := [kinds][]string{
			{"account", "create", name, "--plan", "free"},
			{"key", "create", name, "--json"},
			{"key", "rotate", of.ID, "--json"},
			{"key", "list", name},
			{"account", "set-plan", name, "pro"},
			{"key", "revoke", of.ID, "--yes"},
			{"account", "list", "--json"},
			{"ban", "list", "--json"},
			{"ban", "lift", banned},
			{"audit", "list", "--limit", "100"},
			{"account", "refusals", "impatient0"},
			{"usage", "caller"},
			{"operator", "create", operator, "--role", "viewer"},
			{"operator", "list"},
			{"operator", "remove", operator, "--yes"},
		}[i%kinds]
		control.Lap()
		start := time.Now()
		code, stdout, errs := petcatRuns(t, append(args, placeFlags(data)...)...)
		took = append(took, time.Since(start))
		if code != exitDone {
			t.Fatalf("petcat %s: exit code %d after %s: %s", strings.Join(args, " "), code, took[i], errs)
		}
		control.Judge(strings.Join(args, " "), took[i], time.Second)
		if i%kinds == 1 || i%kinds == 2 {
			must(t, json.Unmarshal([]byte(stdout), &of))
		}
	}
	rate := float64(created.Load()-before) / time.Since(begun).Seconds()
	stop()
	unban()
	slices.Sort(took)
	t.Logf("%d commands beside %.0f creates/s: %s (median), %s (slowest)", commands, rate, took[len(took)/2], took[len(took)-1])
}

// keepBanned lets the clients of so many keys earn bans, again when one was lifted, until
// stop is called.
func (s *server) keepBanned(count int) (stop func()) {
	s.t.Helper()
	keys := make([]string, count)
	for i := range keys {
		_, keys[i] = s.spentKey(fmt.Sprint("impatient", i))
	}
	return stream(count, 10*time.Millisecond, func(random *rand.Rand) {
		if a, err := s.tryList(keys[random.IntN(count)]); err != nil || a.StatusCode != http.StatusTooManyRequests {
			s.t.Errorf("a key whose day is spent: %v, %v", a, err)
		}
	})
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
