package e2e

import (
	"crypto/rand"
	"crypto/tls"
	"encoding/binary"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"petcat"
)

// flood is one kind of client that means harm: it opens a connection, says
// something, and then does not go on as it should.
type flood struct {
	name string
	// tls shakes hands first, to speak protocol; "" for plain.
	protocol string
	// silent is who connects to TLS and does not shake hands.
	silent bool
	// say is what it says at once; drip what it says every second from then on.
	say, drip func(key string) []byte
	// resets ends each connection at once, and opens another.
	resets bool
	// answered waits for the first byte of the answer before a connection counts as open:
	// its time begins when the server has something to send.
	answered bool
	// letGo is when all of them are to be gone.
	letGo time.Duration
}

// floods are all kinds. The times are those of the sockets: after an answer, and
// after the last words over HTTP/2, a client that is silent has two seconds more,
// and one that goes on sending has ten. One second is for a busy machine.
func floods() []flood {
	const (
		late   = time.Second
		silent = 2*time.Second + late
		goAway = time.Second + silent // HTTP/2 says that it ends a second before it does
	)
	anyKey := func(text string) func(string) []byte {
		return func(key string) []byte {
			if key == "" {
				return []byte(text)
			}
			return []byte(strings.Replace(text, "\r\n\r\n", "\r\nAuthorization: Bearer "+key+"\r\n\r\n", 1))
		}
	}
	nothing := func(string) []byte { return nil }
	list := anyKey("GET /v1/categories HTTP/1.1\r\nHost: pets\r\n\r\n")
	document := func(string) []byte {
		return []byte(strings.Repeat("GET /openapi.json HTTP/1.1\r\nHost: pets\r\n\r\n", 64))
	}
	announced := anyKey("POST /v1/categories HTTP/1.1\r\nHost: pets\r\nContent-Length: 1000000\r\n\r\n" + strings.Repeat(" ", 100))
	// It asks once, and then for what is larger than buffers, and takes no data.
	unread2 := func(key string) []byte {
		hello := h2Hello(0)
		for i := range 100 {
			path := "/openapi.json"
			if i%10 == 0 {
				path = "/v1/categories"
			}
			hello = append(hello, h2Request(uint32(2*i+1), "GET", path, key, true)...)
		}
		return hello
	}
	return []flood{
		{name: "plain silent", say: nothing, letGo: headerTimeout + late},
		{name: "plain slow", say: func(string) []byte { return []byte("GET / HT") }, drip: func(string) []byte { return []byte("x") }, letGo: headerTimeout + lingerTimeout + late},
		{name: "plain announcing", say: announced, letGo: bodyTimeout + silent},
		{name: "plain idle", say: list, letGo: idleTimeout + late},
		{name: "plain never reading", say: document, answered: true, letGo: stallTimeout + late},
		{name: "plain resetting", say: list, resets: true, letGo: late},
		{name: "TLS silent", protocol: "http/1.1", silent: true, say: nothing, letGo: headerTimeout + late},
		{name: "TLS shaken and silent", protocol: "http/1.1", say: nothing, letGo: headerTimeout + late},
		{name: "TLS announcing", protocol: "http/1.1", say: announced, letGo: bodyTimeout + silent},
		{name: "TLS never reading", protocol: "http/1.1", say: document, letGo: stallTimeout + late},
		{name: "TLS resetting", protocol: "http/1.1", say: list, resets: true, letGo: late},
		{name: "h2 without a word", protocol: "h2", say: nothing, letGo: 10*time.Second + silent},
		{name: "h2 silent", protocol: "h2", say: func(string) []byte { return h2Hello(65_535) }, letGo: idleTimeout + goAway},
		{name: "h2 never reading", protocol: "h2", say: unread2, letGo: writeTimeout + idleTimeout + goAway},
		{name: "h2 announcing", protocol: "h2", say: func(key string) []byte {
			hello := h2Hello(65_535)
			for i := range 8 {
				hello = append(hello, h2Request(uint32(2*i+1), "POST", "/v1/categories", key, false)...)
				hello = append(hello, h2Frame(0, 0, uint32(2*i+1), make([]byte, 8000))...)
			}
			return hello
		}, letGo: bodyTimeout + idleTimeout + goAway},
		{name: "h2 resetting", protocol: "h2", say: func(key string) []byte {
			hello := h2Hello(65_535)
			for i := range 1000 {
				hello = append(hello, h2Request(uint32(2*i+1), "GET", "/v1/categories", key, true)...)
				hello = append(hello, h2Frame(3, 0, uint32(2*i+1), []byte{0, 0, 0, 8})...)
			}
			return hello
		}, letGo: idleTimeout + goAway},
	}
}

// h2Frame is one frame of HTTP/2.
func h2Frame(kind, flags byte, stream uint32, payload []byte) []byte {
	frame := binary.BigEndian.AppendUint32(nil, uint32(len(payload))<<8|uint32(kind))
	frame = append(frame, flags)
	frame = binary.BigEndian.AppendUint32(frame, stream)
	return append(frame, payload...)
}

// h2Hello is how a client begins: with the window that each of its streams has.
func h2Hello(window uint32) []byte {
	settings := binary.BigEndian.AppendUint32([]byte{0, 4}, window)
	return append([]byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), h2Frame(4, 0, 0, settings)...)
}

// h2Request is the headers of a request.
func h2Request(stream uint32, method, path, key string, whole bool) []byte {
	fields := [][2]string{{":method", method}, {":scheme", "https"}, {":authority", "pets"}, {":path", path}}
	if key != "" {
		fields = append(fields, [2]string{"authorization", "Bearer " + key})
	}
	if !whole {
		fields = append(fields, [2]string{"content-length", "1000000"})
	}
	var block []byte
	for _, f := range fields { // literal, not indexed, short
		block = append(append(block, 0, byte(len(f[0]))), f[0]...)
		block = append(append(block, byte(len(f[1]))), f[1]...)
	}
	flags := byte(4) // END_HEADERS
	if whole {
		flags |= 1 // END_STREAM
	}
	return h2Frame(1, flags, stream, block)
}

// wrongKey is one that looks right.
func wrongKey(t testing.TB) string {
	t.Helper()
	g, err := petcat.GenerateKey(petcat.Production, rand.Reader)
	must(t, err)
	return g.Secret.Reveal()
}

// open opens so many connections, from addresses with at most perAddress of them
// each, and returns what closes them. Connections that the server closes stay so.
func (f flood) open(t *testing.T, s *server, count, perAddress int, key string) (stop func()) {
	t.Helper()
	end := make(chan struct{})
	var group, ready sync.WaitGroup
	turns := make(chan struct{}, 64) // as many connect at a time
	for i := range count {
		from := fmt.Sprintf("127.0.1.%d", 1+i/perAddress)
		ready.Add(1)
		group.Go(func() {
			begun := sync.OnceFunc(ready.Done)
			defer begun()
			for {
				turns <- struct{}{}
				conn, err := f.connect(s, from, key)
				<-turns
				begun()
				if err == nil {
					f.linger(conn, key, end)
				}
				select {
				case <-end:
					return
				default:
					if !f.resets {
						<-end
						return
					}
				}
			}
		})
	}
	ready.Wait()
	return func() { close(end); group.Wait() }
}

// connect opens one connection and says what is to be said.
func (f flood) connect(s *server, from, key string) (net.Conn, error) {
	_, address, _ := strings.Cut(s.api, "://")
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}, Timeout: 10 * time.Second}
	if f.resets {
		d.Timeout = 50 * time.Millisecond // it does not wait until it is let in
	}
	conn, err := d.Dial("tcp", address)
	if err != nil {
		return nil, err
	}
	_ = conn.(*net.TCPConn).SetReadBuffer(4096)
	if f.protocol != "" && !f.silent {
		conn = tls.Client(conn, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{f.protocol}})
	}
	_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
	if c, ok := conn.(*tls.Conn); ok {
		err = c.Handshake()
	}
	if said := f.say(key); err == nil && len(said) > 0 {
		_, err = conn.Write(said)
	}
	if err == nil && f.answered {
		_, err = conn.Read(make([]byte, 1))
	}
	if err != nil {
		_ = conn.Close()
	}
	return conn, err
}

// linger keeps a connection until the end, or resets it.
func (f flood) linger(conn net.Conn, key string, end <-chan struct{}) {
	defer conn.Close()
	if f.resets {
		if over, ok := conn.(*tls.Conn); ok {
			conn = over.NetConn()
		}
		_ = conn.(*net.TCPConn).SetLinger(0)
		return
	}
	if f.drip == nil {
		<-end
		return
	}
	drops := time.NewTicker(time.Second)
	defer drops.Stop()
	for {
		select {
		case <-end:
			return
		case <-drops.C:
			_ = conn.SetDeadline(time.Now().Add(time.Second))
			if _, err := conn.Write(f.drip(key)); err != nil {
				<-end
				return
			}
		}
	}
}
