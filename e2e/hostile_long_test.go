//go:build long

package e2e

import (
	"crypto/rand"
	"crypto/tls"
	"encoding/binary"
	"fmt"
	"io"
	mathrand "math/rand/v2"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	rules "github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/pages"
)

// flood is a kind of malicious client: it opens a connection, sends something, and then misbehaves.
type flood struct {
	name     string
	protocol string // over TLS; "" without TLS
	silent   bool   // no TLS handshake
	say      string // sent at the start
	drip     string // then sent every second
	reads    bool   // it reads the responses
	resets   bool   // it resets each connection, and opens a new one
}

// floods returns all kinds. KEY is replaced by the key of a Free account, UNKNOWN by a well-formed
// key that does not exist, COOKIE by the name of the session's cookie, and each NETWORK by another
// IPv6 network.
func floods() []flood {
	const list = "GET /v1/categories HTTP/1.1\r\nHost: pets\r\nAuthorization: Bearer KEY\r\n\r\n"
	const announced = "POST /v1/categories HTTP/1.1\r\nHost: pets\r\nAuthorization: Bearer KEY\r\n" +
		"Content-Length: 1000000\r\n\r\n{"
	const document = "GET /openapi.json HTTP/1.1\r\nHost: pets\r\n\r\n"
	conditional := strings.TrimSuffix(document, "\r\n") + "If-None-Match: " + strings.Repeat(`"",`, 5000) + "\r\n\r\n"
	form := names(9000, func(name string) string { return name + "=%22%22%22%22%22&" })
	post := fmt.Sprintf("POST /account/plan HTTP/1.1\r\nHost: localhost\r\n"+
		"Content-Type: application/x-www-form-urlencoded\r\nContent-Length: %d\r\n\r\n%s", len(form), form)
	session := "GET /account/ HTTP/1.1\r\nHost: localhost\r\nCookie: COOKIE=" + strings.Repeat("a", 32) + "\r\n\r\n"
	trailer := h2Field("trailer", names(1900, func(name string) string { return name + "," }))
	headers := names(350, func(name string) string { return h2Field(name, "") })
	query := "/account/sign-in?" + names(1900, func(name string) string { return name + "&" })
	unfinished := h2Frame(0, 0, 1, strings.Repeat("x", 1_000_000))[:900_000]
	wrong := strings.Replace(list, "KEY", "pck_live_wrong", 1)
	unknown := strings.Replace(strings.TrimSuffix(list, "\r\n"), "KEY", "UNKNOWN", 1)
	unknown += "X-Forwarded-For: NETWORK\r\n\r\n"
	canceled := h2Requests(1000, "/openapi.json", "", true)
	return []flood{
		{name: "silent"},
		{name: "slow headers", say: "GET / HT", drip: "x"},
		{name: "slow body", say: announced, drip: " "},
		{name: "idle after a request", say: list, reads: true},
		{name: "never reading", say: strings.Repeat(document, 64)},
		{name: "resetting", say: list, resets: true},
		{name: "guessing keys", say: strings.Repeat(wrong, 50), reads: true},
		{name: "TLS without a handshake", protocol: "http/1.1", silent: true},
		{name: "HTTP/2 never reading", protocol: "h2", say: h2Hello(0) + h2Requests(100, "/openapi.json", "", false)},
		{name: "HTTP/2 unfinished frame", protocol: "h2", say: h2Hello(65_535) + unfinished},
		{name: "HTTP/2 canceling", protocol: "h2", say: h2Hello(65_535) + canceled, reads: true},
		{name: "HTTP/2 trailers", protocol: "h2", say: h2Hello(0) + h2Requests(8, "/openapi.json", trailer, false)},
		{name: "HTTP/2 tiny headers", protocol: "h2", say: h2Hello(0) + h2Requests(8, "/openapi.json", headers, false)},
		{name: "entity tags", say: strings.Repeat(conditional, 16), reads: true},
		{name: "forms", say: post},
		{name: "forms with a cookie", say: strings.Replace(post, "\r\n\r\n", "\r\nCookie: COOKIE=x\r\n\r\n", 1)},
		{name: "unknown sessions", say: strings.Repeat(session, 50), reads: true},
		{name: "unknown keys from a /48", say: strings.Repeat(unknown, 50), reads: true},
		{name: "HTTP/2 queries", protocol: "h2", say: h2Hello(0) + h2Requests(8, query, "", false)},
	}
}

// TestHostileFloods keeps PETCAT_CONNECTIONS of each kind open. A good client is served, no ERROR is
// logged, memory is bounded, and everything is released afterwards.
func TestHostileFloods(t *testing.T) {
	count := int(envNumber(t, "PETCAT_CONNECTIONS", 2000))
	memory := float64(256<<20 + count<<18) // 256 KiB for each connection: 756 MiB for 2,000
	for _, f := range floods() {
		t.Run(f.name, func(t *testing.T) {
			place := directory(t)
			good, free := newKey(t, place, "good", unlimited...), newKey(t, place, "free", "free")
			flags := []string{"--customer-pages", "--trusted-proxies", "127.0.0.0/8"}
			if f.protocol != "" {
				certFile, keyFile := writeCertificate(t, t.TempDir(), "petcat")
				flags = append(flags, "--tls-cert", certFile, "--tls-key", keyFile)
			}
			n := serve(t, place, flags...)
			insecure := &tls.Config{InsecureSkipVerify: true}
			n.client = newClient(t, &http.Transport{TLSClientConfig: insecure, DisableKeepAlives: true})
			if f.protocol != "" {
				n.api = strings.Replace(n.api, "http://", "https://", 1)
			}
			n.create(good.Key, "dog").want(t, http.StatusCreated)
			dataset, _, _ := strings.Cut(strings.Trim(n.list(good.Key).Header.Get("ETag"), `"`), "-")
			unknown, err := rules.GenerateKey(rules.Production, rand.Reader)
			must(t, err)
			f.say = strings.NewReplacer(
				"UNKNOWN", unknown.Secret.Reveal(),
				"KEY", free.Key,
				"COOKIE", pages.CookieName("petcat-account", dataset, false),
			).Replace(f.say)
			before := n.metric("go_goroutines")
			stop, opened := f.open(n, count)
			var took []time.Duration
			for range 100 {
				begun := time.Now()
				n.list(good.Key).want(t, http.StatusOK)
				took = append(took, time.Since(begun))
			}
			slices.Sort(took)
			peak, goroutines := n.metric("process_resident_memory_bytes"), n.metric("go_goroutines")
			stop()
			eventually(t, "the connections are released", func() bool { return n.metric("go_goroutines") <= before+10 })
			n.create(good.Key, "cat").want(t, http.StatusCreated)
			n.stop()
			t.Logf("%d connections opened, %.0f goroutines, %.0f MiB", opened.Load(), goroutines, peak/(1<<20))
			t.Logf("p99 of a good client's lists %s", took[98].Round(time.Millisecond/10))
			if peak > memory {
				t.Errorf("memory: %.0f MiB", peak/(1<<20))
			}
			for _, bad := range []string{"panic", `"status":5`, `"level":"ERROR"`} {
				if strings.Contains(n.log.String(), bad) {
					t.Errorf("the log contains %s:\n%s", bad, n.log.events())
				}
			}
		})
	}
}

// open opens count connections, and returns when each was open once. stop closes them. Connections
// that the server closes are not reopened.
func (f flood) open(n *node, count int) (stop func(), opened *atomic.Int64) {
	end, opened := make(chan struct{}), &atomic.Int64{}
	var group, first sync.WaitGroup
	turns := make(chan struct{}, 64) // concurrent connection attempts
	for range count {
		first.Add(1)
		group.Go(func() {
			begun := sync.OnceFunc(first.Done)
			defer begun()
			for again := true; again; again = f.resets {
				turns <- struct{}{}
				conn, err := f.connect(n)
				<-turns
				begun()
				if err == nil {
					opened.Add(1)
					f.linger(conn, end)
				}
				select {
				case <-end:
					return
				case <-time.After(10 * time.Millisecond):
				}
			}
		})
	}
	first.Wait()
	return func() { close(end); group.Wait() }, opened
}

// networks numbers the networks of all requests.
var networks atomic.Uint32

// start returns what is sent at the start.
func (f flood) start() string {
	parts := strings.Split(f.say, "NETWORK")
	for i := range parts[1:] {
		parts[i] += fmt.Sprintf("2001:db8:%x:%x::1", networks.Load()>>16, networks.Add(1)&0xffff)
	}
	return strings.Join(parts, "")
}

// connect opens a connection and sends the start.
func (f flood) connect(n *node) (net.Conn, error) {
	_, address, _ := strings.Cut(n.api, "://")
	conn, err := net.DialTimeout("tcp", address, patience)
	if err != nil {
		return nil, err
	}
	_ = conn.(*net.TCPConn).SetReadBuffer(4096)
	_ = conn.SetDeadline(time.Now().Add(patience))
	if f.protocol != "" && !f.silent {
		secure := tls.Client(conn, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{f.protocol}})
		if err := secure.Handshake(); err != nil {
			_ = conn.Close()
			return nil, err
		}
		conn = secure
	}
	if _, err := io.WriteString(conn, f.start()); err != nil {
		_ = conn.Close()
		return nil, err
	}
	return conn, nil
}

// linger keeps a connection open until the end, or resets it.
func (f flood) linger(conn net.Conn, end <-chan struct{}) {
	defer func() { _ = conn.Close() }()
	if f.resets {
		_ = conn.(*net.TCPConn).SetLinger(0)
		return
	}
	_ = conn.SetDeadline(time.Time{})
	if f.reads {
		go func() { _, _ = io.Copy(io.Discard, conn) }()
	}
	drops := time.NewTicker(time.Second)
	defer drops.Stop()
	for {
		select {
		case <-end:
			return
		case <-drops.C:
			if f.drip != "" {
				_, _ = io.WriteString(conn, f.drip) // the server may have closed it
			}
		}
	}
}

// h2Frame returns an HTTP/2 frame.
func h2Frame(kind, flags byte, stream uint32, payload string) string {
	frame := binary.BigEndian.AppendUint32(nil, uint32(len(payload))<<8|uint32(kind))
	frame = append(frame, flags)
	return string(binary.BigEndian.AppendUint32(frame, stream)) + payload
}

// h2Hello returns the start of an HTTP/2 connection, with the window of the streams.
func h2Hello(window uint32) string {
	settings := string(binary.BigEndian.AppendUint32([]byte{0, 4}, window))
	return "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + h2Frame(4, 0, 0, settings)
}

// h2Requests sends GET requests on separate streams, with further fields, and optionally cancels each.
func h2Requests(count int, path, fields string, canceled bool) string {
	block := h2Field(":method", "GET") + h2Field(":scheme", "https") + h2Field(":authority", "pets")
	block += h2Field(":path", path) + fields
	var all strings.Builder
	for i := range count {
		all.WriteString(h2Frame(1, 5, uint32(2*i+1), block)) // headers, end of the stream
		if canceled {
			all.WriteString(h2Frame(3, 0, uint32(2*i+1), "\x00\x00\x00\x08"))
		}
	}
	return all.String()
}

// h2Field returns a header as a literal that is not indexed.
func h2Field(name, value string) string {
	field := []byte{0}
	for _, text := range []string{name, value} {
		if n := len(text); n < 127 {
			field = append(field, byte(n))
		} else {
			field = binary.AppendUvarint(append(field, 127), uint64(n-127))
		}
		field = append(field, text...)
	}
	return string(field)
}

// names joins texts that contain distinct short names.
func names(count int, text func(name string) string) string {
	var all strings.Builder
	for i := range count {
		all.WriteString(text(strconv.FormatInt(int64(36+i), 36)))
	}
	return all.String()
}

// rareText returns a text of the maximum length of a description that hardly can be compressed.
func rareText() string {
	var text strings.Builder
	for range rules.MaxCategoryDescription {
		text.WriteRune(rune(0x20000 + mathrand.IntN(0xa000))) // 4 bytes in UTF-8
	}
	return text.String()
}

// TestHostileStorage: with as many categories as the default limit allows, a node with the memory of the
// files in deploy/ serves 50 readers in all encodings. A purge makes room.
func TestHostileStorage(t *testing.T) {
	const memory = 512 << 20
	t.Setenv("GOMEMLIMIT", "400MiB")
	place := directory(t)
	spammer, good := newKey(t, place, "spammer", unlimited...), newKey(t, place, "good", unlimited...)
	n := serve(t, place)
	for created := 0; ; created++ {
		body := `{"name":"x","description":"` + rareText() + `"}`
		a := n.do(http.MethodPost, "/v1/categories", body, by(spammer.Key))
		if a.StatusCode == http.StatusForbidden {
			t.Logf("%d categories", created)
			break
		}
		a.want(t, http.StatusCreated)
	}
	transport := &http.Transport{DisableCompression: true}
	defer transport.CloseIdleConnections()
	var readers sync.WaitGroup
	for i := range 50 {
		readers.Go(func() {
			for _, encoding := range []string{"identity", "gzip", "zstd"} {
				r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, n.api+"/v1/categories", http.NoBody)
				must(t, err)
				r.Header.Set("Authorization", "Bearer "+good.Key)
				r.Header.Set("Accept-Encoding", encoding)
				res, err := transport.RoundTrip(r)
				if err != nil {
					t.Errorf("reader %d: %v", i, err)
					return
				}
				size, err := io.Copy(io.Discard, res.Body)
				_ = res.Body.Close()
				if err != nil || res.StatusCode != http.StatusOK {
					t.Errorf("reader %d: %d, %d bytes of %s, %v", i, res.StatusCode, size, encoding, err)
				}
			}
		})
	}
	readers.Wait()
	if peak := n.metric("process_resident_memory_bytes"); peak > memory {
		t.Errorf("%.0f MiB of memory", peak/(1<<20))
	} else {
		t.Logf("%.0f MiB of memory", peak/(1<<20))
	}
	petcat(t, place, "account", "purge", "spammer", "--yes")
	eventually(t, "the list is empty", func() bool { return string(n.list(good.Key).body) == "[]" })
	n.create(good.Key, "Dogs").want(t, http.StatusCreated)
	n.stop()
}
