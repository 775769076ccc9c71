package e2e

import (
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"petcat/internal/stalltest"
)

// floodVariable asks for the long form: so many connections of each kind, one kind
// after the other, with each sort of key. make hostile does.
const floodVariable = "PETCAT_HOSTILE_CONNECTIONS"

// floodPerAddress is how many connections come from each address.
const floodPerAddress = 100

// floodMemory is what a server may take at most, in bytes.
const floodMemory = 300 << 20

// flooded is a server, and somebody who means well and calls it meanwhile.
type flooded struct {
	*server
	key, free string
	polite    *http.Client // keeps its connections
	hasty     *http.Client // opens one for each request
}

func serveFlooded(t *testing.T, secure bool, flags ...string) *flooded {
	t.Helper()
	data := filepath.Join(t.TempDir(), "data")
	if secure {
		certFile, keyFile := writeCertificate(t, t.TempDir(), "petcat")
		flags = append(flags, "--tls-cert", certFile, "--tls-key", keyFile)
	}
	s := &flooded{server: serve(t, data, flags...)}
	transport := func(keep bool) *http.Client {
		tr := newUncheckedTransport()
		tr.DisableKeepAlives = !keep
		t.Cleanup(tr.CloseIdleConnections)
		return &http.Client{Transport: tr, Timeout: 10 * time.Second}
	}
	s.polite, s.hasty = transport(true), transport(false)
	if secure {
		s.api = strings.Replace(s.api, "http://", "https://", 1)
	}
	s.key = newCaller(t, data)
	openAccount(t, data, "free", "free")
	_, s.free = issueKey(t, data, "free")
	return s
}

// callWell calls for a while, as often in a second, and returns what the server's
// processor took for each call. Every call has to succeed.
func (s *flooded) callWell(t *testing.T, span time.Duration, perSecond int) (each time.Duration) {
	t.Helper()
	begin := s.metric("process_cpu_seconds_total")
	calls := 0
	pause := time.NewTicker(time.Second / time.Duration(perSecond))
	defer pause.Stop()
	for end := time.Now().Add(span); time.Now().Before(end); <-pause.C {
		client := s.polite
		if calls%4 == 0 {
			client = s.hasty
		}
		a, err := (&server{client: client}).try(http.MethodGet, s.api+"/v1/categories", nil, withKey(s.key))
		if err != nil {
			t.Errorf("a good call failed: %v", err)
		} else if a.StatusCode != http.StatusOK {
			t.Errorf("a good call was answered with %d %s", a.StatusCode, a.body)
		}
		calls++
	}
	return time.Duration((s.metric("process_cpu_seconds_total") - begin) / float64(calls) * float64(time.Second))
}

// peak returns the most memory that the server has had, in bytes.
func (s *flooded) peak(t *testing.T) float64 {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.process.Pid))
	if err != nil {
		return s.metric("process_resident_memory_bytes") // not Linux
	}
	found := regexp.MustCompile(`VmHWM:\s+(\d+) kB`).FindSubmatch(status)
	kb, err := strconv.ParseFloat(string(found[1]), 64)
	must(t, err)
	return kb * 1024
}

// strangers are the connections that are not of the good caller.
func (s *flooded) strangers() float64 { return s.metric("petcat_connections") }

// ofTheGoodCaller is how many connections callWell may leave.
const ofTheGoodCaller = 3

// wantGone checks that all connections but so many are gone within a time from begin, and
// returns when that was known.
func (s *flooded) wantGone(t *testing.T, left float64, begin time.Time, timeout time.Duration) (took time.Duration) {
	t.Helper()
	s.control().Lap()
	for open := s.strangers(); open > left; open = s.strangers() {
		if took = time.Since(begin); took > 2*timeout {
			t.Errorf("%v are open after %s; they have %s", open, took, timeout)
			return took
		}
		lapse(20 * time.Millisecond)
	}
	took = time.Since(begin)
	s.control().Judge("to let them go", took, timeout)
	return took
}

// awaitShut waits until all addresses that reset their connections have
// wasted what they may at once, and are refused at the same time.
func (s *flooded) awaitShut(t *testing.T, addresses int) {
	t.Helper()
	begin := time.Now()
	if !within(time.Minute, func() bool {
		lapse(20 * time.Millisecond)
		return s.metric("petcat_addresses_refused") >= float64(addresses)
	}) {
		t.Errorf("%v of %d addresses are shut out", s.metric("petcat_addresses_refused"), addresses)
	}
	t.Logf("shut out after %s", time.Since(begin).Round(100*time.Millisecond))
}

// wantQuiet checks that nothing was logged or counted that wakes somebody.
func (s *flooded) wantQuiet(t *testing.T) {
	t.Helper()
	for line := range strings.Lines(s.log.String()) {
		for _, bad := range []string{"panic", "goroutine ", `"status":5`, `"level":"ERROR"`} {
			if strings.Contains(line, bad) {
				t.Errorf("the log holds %s: %.500s", bad, line)
				return
			}
		}
	}
}

// wantEnd stops the server with everybody connected.
func (s *flooded) wantEnd(t *testing.T, timeout time.Duration) (took time.Duration) {
	t.Helper()
	s.control().Measure("the end", timeout, func() {
		begin := time.Now()
		if code := s.stop(); code != exitDone {
			t.Errorf("it ended with %d: %q", code, s.log.sentences())
		}
		took = time.Since(begin)
	})
	return took
}

// TestFloods holds many connections of every kind and key open, and looks at what
// they cost, when they are let go, and whether the server stops in time while
// they are there.
func TestFloods(t *testing.T) {
	t.Parallel()
	variable := os.Getenv(floodVariable)
	if variable == "" {
		t.Skip("make hostile runs it; TestFloodsOfEveryKind is its short form")
	}
	count, err := strconv.Atoi(variable)
	must(t, err)
	var machine sync.Mutex // who holds it measures; all others only wait for their connections to be let go
	for _, f := range floods() {
		for _, credential := range []string{"none", "unknown", "free"} {
			t.Run(f.name+" "+credential, func(t *testing.T) {
				t.Parallel()
				machine.Lock()
				unlock := sync.OnceFunc(machine.Unlock)
				defer unlock()
				s := serveFlooded(t, f.protocol != "", "--shutdown-timeout", "5s")
				key := map[string]string{"none": "", "unknown": wrongKey(t), "free": s.free}[credential]
				s.callWell(t, time.Second, 200) // it warms up
				calm := s.callWell(t, 3*time.Second, 200)
				stop := f.open(t, s.server, count, floodPerAddress, key)
				opened := time.Now()
				most := s.strangers()
				if f.resets {
					s.awaitShut(t, count/floodPerAddress)
				}
				busy := s.callWell(t, 3*time.Second, 200)
				if busy > 2*calm {
					t.Errorf("a good call took %s of the processor, %s before", busy, calm)
				}
				if f.resets {
					stop()
					opened = time.Now() // the last of them
				}
				unlock()
				let := s.wantGone(t, ofTheGoodCaller, opened, f.letGo)
				machine.Lock()
				defer machine.Unlock()
				peak := s.peak(t)
				if !f.resets {
					stop()
				}
				if peak > floodMemory {
					t.Errorf("it took %.0f MiB", peak/(1<<20))
				}
				stop = f.open(t, s.server, count/2, floodPerAddress, key)
				end := s.wantEnd(t, 5*time.Second)
				stop()
				t.Logf("%.0f open; %.0f MiB; %s a good call, %s before; let go after %s; stopped in %s",
					most, peak/(1<<20), busy.Round(time.Microsecond), calm.Round(time.Microsecond), let.Round(100*time.Millisecond), end.Round(10*time.Millisecond))
				s.wantQuiet(t)
			})
		}
	}
}

// newUncheckedTransport trusts every certificate.
func newUncheckedTransport() *http.Transport {
	return &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, ForceAttemptHTTP2: true}
}

// TestFloodsOfEveryKind is the short form: hundreds of connections, of all kinds
// that end within seconds at once, from one address.
func TestFloodsOfEveryKind(t *testing.T) {
	t.Parallel()
	for name, secure := range map[string]bool{"plain": false, "TLS": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const each, timeout = 100, 16 * time.Second
			control := stalltest.Start(t)
			control.Repeat(func() {
				s := serveFlooded(t, secure)
				s.measures = control
				keys := []string{"", wrongKey(t), s.free}
				var stops []func()
				for _, f := range floods() {
					if secure == (f.protocol != "") && f.letGo <= timeout && !f.resets {
						stops = append(stops, f.open(t, s.server, each, each, keys[len(stops)%len(keys)]))
					}
				}
				opened := time.Now() // the last of them
				most := s.strangers()
				s.callWell(t, time.Second, 100)
				lapse(unauthenticatedGrace - time.Since(opened) + time.Second)
				if unauthenticated := s.metric("petcat_connections_without_key"); unauthenticated > maxUnauthenticated+1 { // the good caller's next one
					t.Errorf("%v connections have shown no key", unauthenticated)
				}
				let := s.wantGone(t, ofTheGoodCaller, opened, timeout)
				t.Logf("%.0f open of %d; let go after %s", most, each*len(stops), let.Round(time.Millisecond))
				if peak := s.peak(t); peak > floodMemory && !stalltest.Race {
					t.Errorf("it took %.0f MiB", peak/(1<<20))
				}
				for _, stop := range stops {
					stop()
				}
				s.wantQuiet(t)
			})
		})
	}
}

// Who asks over HTTP/2 and reads nothing, not even at the level of TCP, is let go,
// and does not hold up the end before that.
func TestUnreadHTTP2(t *testing.T) {
	t.Parallel()
	f := flood{protocol: "h2", say: func(string) []byte {
		hello := h2Hello(1 << 30)
		for i := range http2Streams {
			hello = append(hello, h2Request(uint32(2*i+1), "GET", "/docs/swagger-ui-bundle.js", "", true)...)
		}
		return append(hello, h2Frame(8, 0, 0, []byte{0x70, 0, 0, 0})...) // the connection's window
	}}
	t.Run("is let go", func(t *testing.T) {
		t.Parallel()
		control := stalltest.Start(t)
		control.Repeat(func() {
			s := serveFlooded(t, true)
			s.measures = control
			opened := time.Now()
			stop := f.open(t, s.server, 20, 20, "")
			defer stop()
			if most := s.strangers(); most != 20 {
				t.Errorf("%v of 20 are open", most)
			}
			t.Logf("let go after %s", s.wantGone(t, 0, opened, stallTimeout+3*time.Second).Round(time.Millisecond))
			s.wantQuiet(t)
		})
	})
	t.Run("does not hold up the end", func(t *testing.T) {
		t.Parallel()
		control := stalltest.Start(t)
		control.Repeat(func() {
			s := serveFlooded(t, true, "--shutdown-timeout", "2s")
			s.measures = control
			stop := f.open(t, s.server, 20, 20, "")
			defer stop()
			t.Logf("stopped in %s", s.wantEnd(t, 2*time.Second))
			s.wantQuiet(t)
		})
	})
}

// Who cancels each request over HTTP/2 as soon as it is sent is let go, and no
// request of it is worked on any more.
func TestResetHTTP2(t *testing.T) {
	t.Parallel()
	s := serveFlooded(t, true)
	f := flood{protocol: "h2", say: func(string) []byte { return h2Hello(65_535) }}
	conn, err := f.connect(s.server, "127.0.1.1", "")
	must(t, err)
	defer conn.Close()
	must(t, conn.SetDeadline(time.Now().Add(time.Minute)))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = io.Copy(io.Discard, conn)
	}()
	for stream := uint32(1); ; stream += 2 {
		pair := append(h2Request(stream, "POST", "/v1/categories", s.free, false), h2Frame(3, 0, stream, []byte{0, 0, 0, 8})...)
		if _, err := conn.Write(pair); err != nil {
			break
		}
		if stream > 20_000 {
			t.Fatalf("%d requests were cancelled", stream/2)
		}
		lapse(100 * time.Microsecond)
	}
	<-ended
	s.wantQuiet(t)
}

// A connection on which nobody shows a key, or only one that has exceeded its limits, may
// ask for much, but not for ever; one that has shown its key may.
func TestStrangersAreLetGo(t *testing.T) {
	t.Parallel()
	for name, secure := range map[string]bool{"HTTP/1.1": false, "HTTP/2": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serveFlooded(t, secure)
			for _, c := range []struct {
				name, path, first, always string
				closes                    bool
			}{
				{name: "no key", path: "/v1/categories", closes: true},
				{name: "a document", path: "/openapi.json", closes: true},
				{name: "a key once", path: "/v1/none", first: s.key},
				{name: "a key beyond its limits", path: "/v1/categories", always: s.free, closes: true},
			} {
				tr := newUncheckedTransport()
				client := &server{client: &http.Client{Transport: tr, Timeout: 10 * time.Second}}
				opened := 0
				trace := &httptrace.ClientTrace{GotConn: func(i httptrace.GotConnInfo) {
					if !i.Reused {
						opened++
					}
				}}
				traced := func(r *http.Request) {
					*r = *r.WithContext(httptrace.WithClientTrace(r.Context(), trace))
					r.Header.Set("Accept-Encoding", "gzip")
					if c.always != "" {
						withKey(c.always)(r)
					}
				}
				if c.first != "" {
					_, err := client.try(http.MethodGet, s.api+c.path, nil, traced, withKey(c.first))
					must(t, err)
				}
				for range 6 * maxRefused {
					_, err := client.try(http.MethodGet, s.api+c.path, nil, traced)
					must(t, err)
				}
				if c.closes != (opened > 1) {
					t.Errorf("%s: %d connections were opened", c.name, opened)
				}
				tr.CloseIdleConnections()
			}
			s.wantQuiet(t)
		})
	}
}

// Clients that open connections wildly and have a valid key are never shut out,
// though Go's close some that they have not used.
func TestWildClientsAreNotShutOut(t *testing.T) {
	t.Parallel()
	s := serveFlooded(t, false)
	for name, keep := range map[string]bool{"a connection for each request": false, "more than are kept": true} {
		tr := newUncheckedTransport()
		tr.DisableKeepAlives = !keep // otherwise, two are kept
		caller := &server{client: &http.Client{Transport: tr, Timeout: 10 * time.Second}}
		var group sync.WaitGroup
		for range 64 {
			group.Go(func() {
				for range 40 {
					if a, err := caller.try(http.MethodGet, s.api+"/v1/categories", nil, withKey(s.key)); err != nil || a.StatusCode != http.StatusOK {
						t.Errorf("%s: %v, %v", name, a, err)
						return
					}
				}
			})
		}
		group.Wait()
		tr.CloseIdleConnections()
		if shut, dropped := s.metric("petcat_addresses_refused"), s.metric("petcat_connections_dropped_total"); shut != 0 || dropped != 0 {
			t.Errorf("%s: %v addresses are shut out, %v connections were dropped", name, shut, dropped)
		}
	}
	s.wantQuiet(t)
}
