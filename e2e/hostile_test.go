package e2e

import (
	"bufio"
	"crypto/rand"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"petcat"
	"petcat/internal/apicheck"
	"petcat/internal/stalltest"
)

// attacked is a server in a process of its own, with a key for somebody who
// means well. When the test ends, it must still be well.
type attacked struct {
	*server
	key        string
	goroutines float64
}

func attack(t *testing.T) *attacked {
	t.Helper()
	data := filepath.Join(t.TempDir(), "data")
	s := &attacked{server: serve(t, data)}
	s.key = newCaller(t, data)
	s.mustCreate(s.key, "dog")
	s.client.CloseIdleConnections()
	s.goroutines = s.metric("go_goroutines")
	return s
}

// wantWell checks that the attack has left no trace.
func (s *attacked) wantWell(t *testing.T) {
	t.Helper()
	wantStatus(t, s.list(s.key), http.StatusOK)
	s.mustCreate(s.key, "cat")
	s.client.CloseIdleConnections()
	// A scrape has goroutines of its own.
	eventually(t, 10*time.Second, "the goroutines are gone", func() bool { return s.metric("go_goroutines") <= s.goroutines+2 })
	s.mustStop()
	log := s.log.String()
	for _, bad := range []string{"panic", "goroutine ", `"status":5`, `"level":"ERROR"`, `"stack"`} {
		if i := strings.Index(log, bad); i >= 0 {
			t.Errorf("the log holds %s: %.500s", bad, log[max(0, i-200):])
		}
	}
}

// raw sends bytes and returns the answers, until the server hangs up or falls
// silent.
func (s *attacked) raw(t *testing.T, text string) (statuses []int) {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.api, "http://"))
	must(t, err)
	defer conn.Close()
	go func() { _, _ = io.WriteString(conn, text) }() // it may hang up half-way
	in := bufio.NewReader(conn)
	for timeout := time.Second; ; timeout = 100 * time.Millisecond {
		must(t, conn.SetReadDeadline(time.Now().Add(timeout)))
		sent := time.Now().Unix()
		res, err := http.ReadResponse(in, nil)
		if err != nil {
			return statuses
		}
		statuses = append(statuses, res.StatusCode)
		body, err := io.ReadAll(res.Body)
		// What the HTTP server itself refuses never reaches the API.
		if res.Header.Get("X-Request-Id") != "" {
			must(t, err)
			for _, problem := range apicheck.Problems(res, body, sent, time.Now().Unix()) {
				t.Error(problem)
			}
		} else if b := belowOf(one, res.Header.Get("Content-Type"), res.StatusCode, body); !slices.Contains(listedBelow(t), b) {
			t.Errorf("docs/errors.md does not list %+v", b)
		}
	}
}

func TestGarbageIsRefused(t *testing.T) {
	s := attack(t)
	const line = "POST /v1/categories HTTP/1.1\r\nHost: pets\r\n"
	authorized := line + "Authorization: Bearer " + s.key + "\r\n"
	big := strings.Repeat("x", 20<<10)
	for _, c := range []struct {
		name, text string
		want       []int // the first answer is one of them; none: it hangs up in silence
		all        []int // all answers; nil: whatever comes after the first
	}{
		{"nothing", "", nil, nil},
		{"line breaks", "\r\n\r\n\r\n\r\n", []int{400}, nil},
		{"no HTTP", "hello\r\n\r\n", []int{400}, nil},
		{"NUL", "GET /\x00 HTTP/1.1\r\nHost: pets\r\n\r\n", []int{400}, nil},
		{"NUL in a header", "GET /v1 HTTP/1.1\r\nHost: pets\r\nA: b\x00c\r\n\r\n", []int{400}, nil},
		{"control characters", "\x01\x02\x03\x04\r\n\r\n", []int{400}, nil},
		{"TLS to the plain port", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", []int{400}, nil},
		{"HTTP/2 preface", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", []int{400, 404, 505}, nil},
		{"HTTP/9", "GET /v1/categories HTTP/9.9\r\nHost: pets\r\n\r\n", []int{505}, nil},
		{"no host", "GET /v1/categories HTTP/1.1\r\n\r\n", []int{400}, nil},
		{"two hosts", "GET /v1/categories HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", []int{400}, nil},
		{"huge header", "GET /v1/categories HTTP/1.1\r\nHost: pets\r\nA: " + big + "\r\n\r\n", []int{431}, nil},
		{"huge key", "GET /v1/categories HTTP/1.1\r\nHost: pets\r\nAuthorization: Bearer " + big + "\r\n\r\n", []int{431}, nil},
		{"many headers", "GET /v1/categories HTTP/1.1\r\nHost: pets\r\n" + strings.Repeat("A: b\r\n", 10<<10) + "\r\n", []int{431}, nil},
		{"huge path", "GET /" + big + " HTTP/1.1\r\nHost: pets\r\n\r\n", []int{431}, nil},
		{"folded header", "GET /v1/categories HTTP/1.1\r\nHost: pets\r\nA: b\r\n  c\r\n\r\n", []int{400, 401}, nil},
		{"blank before the colon", "GET /v1/categories HTTP/1.1\r\nHost: pets\r\nA : b\r\n\r\n", []int{400}, nil},
		{"no key, with a body", line + "Content-Length: 2\r\n\r\n{}", []int{401}, nil},
		// The chunks win, as RFC 9112 wants it; what follows them is another request.
		{"length and chunks", authorized + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: pets\r\n\r\n", []int{400}, []int{400, 404}},
		{"two lengths", authorized + "Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}", []int{400}, []int{400}},
		{"negative length", authorized + "Content-Length: -1\r\n\r\n", []int{400}, nil},
		{"huge length", authorized + "Content-Length: 99999999999999999999\r\n\r\n", []int{400}, nil},
		{"length above the limit", authorized + "Content-Length: 1048577\r\n\r\n{}", []int{413}, nil},
		{"unknown coding", authorized + "Transfer-Encoding: gzip\r\n\r\n{}", []int{501}, nil},
		{"coding twice", authorized + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", []int{400, 501}, nil},
		{"chunk garbage", authorized + "Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n", []int{400}, nil},
		{"chunk too large", authorized + "Transfer-Encoding: chunked\r\n\r\nffffffffffffffff1\r\n{}\r\n", []int{400}, nil},
		{"many tiny chunks", authorized + "Transfer-Encoding: chunked\r\n\r\n" + strings.Repeat("1;"+strings.Repeat("e", 500)+"\r\n \r\n", 2000) + "0\r\n\r\n", []int{400}, nil},
		{"broken escape", "GET /v1/%zz HTTP/1.1\r\nHost: pets\r\n\r\n", []int{400}, nil},
		{"dot segments", "GET /v1/../etc/passwd HTTP/1.1\r\nHost: pets\r\n\r\n", []int{401, 404}, nil},
		{"document dot segments", "GET /docs/../../etc/passwd HTTP/1.1\r\nHost: pets\r\n\r\n", []int{404}, nil},
		{"another server's URL", "GET http://elsewhere.example/v1/categories HTTP/1.1\r\nHost: pets\r\n\r\n", []int{401}, nil},
		{"CONNECT", "CONNECT elsewhere.example:443 HTTP/1.1\r\nHost: elsewhere.example:443\r\n\r\n", []int{400, 404, 405}, nil},
		{"OPTIONS *", "OPTIONS * HTTP/1.1\r\nHost: pets\r\n\r\n", []int{404}, nil},
		{"TRACE", "TRACE /v1/categories HTTP/1.1\r\nHost: pets\r\n\r\n", []int{401}, nil},
		{"odd method", "B@D! /v1/categories HTTP/1.1\r\nHost: pets\r\n\r\n", []int{400, 401}, nil},
		{"upgrade", "GET /v1/categories HTTP/1.1\r\nHost: pets\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n", []int{401}, nil},
		{"expectation", line + "Expect: the-unexpected\r\nContent-Length: 2\r\n\r\n{}", []int{401, 417}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := s.raw(t, c.text)
			if c.all != nil && !slices.Equal(got, c.all) {
				t.Errorf("answered with %v; want %v and no more", got, c.all)
			}
			switch {
			case len(c.want) == 0 && len(got) == 0:
			case len(got) == 0:
				t.Errorf("no answer; want one of %v", c.want)
			case !slices.Contains(c.want, got[0]):
				t.Errorf("answered with %v; want one of %v", got, c.want)
			}
		})
	}
	s.wantWell(t)
}

// TestSlowClientsAreCutOff: who sends headers or a body drop by drop, or does
// not read what it asked for, is let go, and keeps nobody else waiting.
func TestSlowClientsAreCutOff(t *testing.T) {
	t.Parallel()
	s := attack(t)
	body := `{"name":"long","description":"` + strings.Repeat("d", 10_000) + `"}`
	for range 1000 { // a list of 10 MB, more than sockets buffer
		a := s.do(http.MethodPost, "/v1/categories", body, withKey(s.key))
		wantStatus(t, a, http.StatusCreated)
	}
	request := "POST /v1/categories HTTP/1.1\r\nHost: pets\r\nAuthorization: Bearer " + s.key + "\r\nContent-Length: 1000\r\n\r\n"
	s.control().Repeat(func() { s.cutsOff(t, request) })
	s.wantWell(t)
}

// cutsOff sends headers and bodies drop by drop, and does not read what it asked for, until
// all of that has ended.
func (s *attacked) cutsOff(t *testing.T, request string) {
	t.Helper()
	var group sync.WaitGroup
	var headers, bodies [20]time.Duration
	for i := range headers {
		group.Go(func() { headers[i], _ = s.drip(t, request) })
		group.Go(func() {
			var status int
			if bodies[i], status = s.drip(t, request[:len(request)-1], "\n"); status != http.StatusRequestTimeout {
				t.Errorf("a slow body was answered with %d after %s", status, bodies[i])
			}
		})
	}
	stop := s.neverRead(t, 20)
	asked := time.Now()
	// Meanwhile others are served as ever.
	slowest := time.Duration(0)
	within(time.Second, func() bool {
		begin := time.Now()
		wantError(t, s.do(http.MethodGet, "/v1/none", "", withKey(s.key)), http.StatusNotFound, petcat.CodeNotFound)
		slowest = max(slowest, time.Since(begin))
		return false
	})
	s.control().Judge("another caller", slowest, time.Second)
	group.Wait()
	s.control().Judge("slow headers", slices.Max(headers[:]), headerTimeout+deadlineTick+moment)
	s.control().Judge("a slow body", slices.Max(bodies[:]), bodyTimeout+deadlineTick+moment)
	eventually(t, 2*stallTimeout, "who reads nothing is let go", func() bool {
		s.client.CloseIdleConnections()
		return s.metric("petcat_connections") == 0
	})
	s.control().Judge("who reads nothing", time.Since(asked), stallTimeout+2*deadlineTick+moment)
	stop()
}

// moment is what it takes to do what a tick begins, and to look at it.
const moment = 100 * time.Millisecond

// drip sends first at once, and then the rest and what follows byte by byte,
// until the server hangs up. It returns how long that took and the status of
// the answer, 0 for none.
func (s *attacked) drip(t *testing.T, text string, rest ...string) (took time.Duration, status int) {
	t.Helper()
	begin := time.Now()
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.api, "http://"))
	if err != nil {
		t.Error(err)
		return 0, 0
	}
	defer conn.Close()
	if len(rest) > 0 { // the headers at once
		_, _ = io.WriteString(conn, text+rest[0])
		text = strings.Repeat(" ", 1000)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = conn.SetReadDeadline(time.Now().Add(time.Minute))
		if res, err := http.ReadResponse(bufio.NewReader(conn), nil); err == nil {
			status = res.StatusCode
			_, _ = io.Copy(io.Discard, res.Body)
		}
		took = time.Since(begin)
	}()
	drops := time.NewTicker(200 * time.Millisecond)
	defer drops.Stop()
	for i := 0; ; i++ {
		select {
		case <-ended:
			return took, status
		case <-drops.C:
			_, _ = io.WriteString(conn, text[i%len(text):i%len(text)+1])
		}
	}
}

// neverRead asks for the long list many times and reads none of it.
func (s *attacked) neverRead(t *testing.T, clients int) (stop func()) {
	t.Helper()
	var conns []net.Conn
	for range clients {
		conn, err := net.Dial("tcp", strings.TrimPrefix(s.api, "http://"))
		must(t, err)
		must(t, conn.(*net.TCPConn).SetReadBuffer(4096))
		_, err = io.WriteString(conn, "GET /v1/categories HTTP/1.1\r\nHost: pets\r\nAuthorization: Bearer "+s.key+"\r\n\r\n")
		must(t, err)
		conns = append(conns, conn)
	}
	return func() {
		for _, conn := range conns {
			must(t, conn.Close())
		}
	}
}

// TestWrongKeysAreRefusedCheaply sends keys that look right and are none: they
// are refused without an end to memory, and a good key is not kept out.
func TestWrongKeysAreRefusedCheaply(t *testing.T) {
	t.Parallel()
	const keys, clients = 20_000, 8
	s := attack(t)
	memory := s.metric("process_resident_memory_bytes")
	var group sync.WaitGroup
	for range clients {
		group.Go(func() {
			for range keys / clients {
				wrong, err := petcat.GenerateKey(petcat.Production, rand.Reader)
				if err != nil {
					t.Error(err)
					return
				}
				a, err := s.try(http.MethodGet, s.api+"/v1/categories", nil, withKey(wrong.Secret.Reveal()))
				if err != nil {
					t.Error(err)
					return
				}
				if code := a.code(); code != petcat.CodeInvalidAPIKey && code != petcat.CodeTooManyFailedAttempts {
					t.Errorf("%d %s", a.StatusCode, a.body)
				}
			}
		})
	}
	group.Wait()
	// What the race detector remembers is several times what the program does.
	if grown := s.metric("process_resident_memory_bytes") - memory; grown > 64<<20+gcHeadroom && !stalltest.Race {
		t.Errorf("%d wrong keys took %s bytes of memory", keys, strconv.FormatFloat(grown, 'f', 0, 64))
	}
	s.wantWell(t)
}

// TestAbandonedRequestsLeaveNothing hangs up at every point of a request.
func TestAbandonedRequestsLeaveNothing(t *testing.T) {
	t.Parallel()
	s := attack(t)
	body := categoryBody("gone")
	text := "POST /v1/categories HTTP/1.1\r\nHost: pets\r\nAuthorization: Bearer " + s.key +
		"\r\nContent-Length: " + strconv.Itoa(len(body)) + "\r\n\r\n" + body
	for end := 1; end <= len(text); end++ {
		conn, err := net.Dial("tcp", strings.TrimPrefix(s.api, "http://"))
		must(t, err)
		_, err = io.WriteString(conn, text[:end])
		must(t, err)
		must(t, conn.Close())
	}
	// Only the whole request may have created something.
	n := 0
	for _, c := range s.categories(s.key) {
		if c.Name == "gone" {
			n++
		}
	}
	if n > 1 {
		t.Errorf("%d categories were created by requests of which one was whole", n)
	}
	s.wantWell(t)
}
