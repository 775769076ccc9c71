package postgres

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"petcat"
	"petcat/internal/pgtest"
)

// pooler stands between clients and a server as a pooler in transaction mode does:
// each transaction of a client runs on whatever connection to the server is free,
// here on a random one.
type pooler struct {
	t    *testing.T
	free chan net.Conn

	mu       sync.Mutex
	switches int // guarded by mu; transactions on another connection than the client's last
}

// Messages of the protocol that the pooler knows: their first byte, or, of the
// first message of a connection, their number.
const (
	sslRequest    = 80877103
	cancelRequest = 80877102
	syncing       = 'S'
	query         = 'Q'
	terminate     = 'X'
	readyForQuery = 'Z'
	outside       = 'I' // the status of a ready server that is in no transaction
)

// startPooler returns the address of a pooler before a database.
func startPooler(t *testing.T, database string) (address string, p *pooler) {
	t.Helper()
	const connections = 6
	p = &pooler{t: t, free: make(chan net.Conn, connections)}
	for range connections {
		conn, err := pgconn.Connect(t.Context(), database)
		if err != nil {
			t.Fatal(err)
		}
		raw, err := conn.Hijack()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = raw.Conn.Close() })
		p.free <- raw.Conn
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = client.Close() }()
				if err := p.serve(client); err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, net.ErrClosed) {
					t.Logf("pooler: %v", err)
				}
			}()
		}
	}()
	return l.Addr().String(), p
}

// take returns a random free connection.
func (p *pooler) take() net.Conn {
	first := <-p.free
	for range rand.IntN(3) {
		select {
		case other := <-p.free:
			p.free <- first
			first = other
		default:
		}
	}
	return first
}

func (p *pooler) serve(client net.Conn) error {
	if ok, err := greet(client); !ok || err != nil {
		return err
	}
	var current, last net.Conn // current: nil outside a transaction
	defer func() {
		if current != nil {
			_ = current.Close() // in a state that nobody knows
		}
	}()
	for {
		kind, message, err := readMessage(client)
		if err != nil || kind == terminate {
			return err
		}
		if current == nil {
			current = p.take()
			if last != nil && last != current {
				p.mu.Lock()
				p.switches++
				p.mu.Unlock()
			}
			last = current
		}
		if _, err := current.Write(message); err != nil {
			return err
		}
		if kind != syncing && kind != query {
			continue
		}
		status, err := answer(current, client)
		if err != nil {
			return err
		}
		if status == outside {
			p.free <- current
			current = nil
		}
	}
}

// greet answers the first messages of a client; ok is false when it wants nothing
// more. The process number that it tells is made up, as poolers do.
func greet(client net.Conn) (ok bool, err error) {
	for {
		var head [8]byte
		if _, err := io.ReadFull(client, head[:]); err != nil {
			return false, err
		}
		rest := make([]byte, binary.BigEndian.Uint32(head[:4])-8)
		if _, err := io.ReadFull(client, rest); err != nil {
			return false, err
		}
		switch binary.BigEndian.Uint32(head[4:]) {
		case cancelRequest:
			return false, nil
		case sslRequest:
			if _, err := client.Write([]byte("N")); err != nil {
				return false, err
			}
			continue
		}
		hello := append([]byte{'R'}, 0, 0, 0, 8, 0, 0, 0, 0) // no password is needed
		for _, parameter := range []string{"client_encoding\x00UTF8\x00", "standard_conforming_strings\x00on\x00"} {
			hello = append(hello, 'S')
			hello = binary.BigEndian.AppendUint32(hello, uint32(4+len(parameter)))
			hello = append(hello, parameter...)
		}
		hello = append(hello, 'K', 0, 0, 0, 12, 0x7f, 0, 0, 1, 0, 0, 0, 1)
		hello = append(hello, readyForQuery, 0, 0, 0, 5, outside)
		_, err := client.Write(hello)
		return true, err
	}
}

// readMessage returns a message's first byte and the whole of it.
func readMessage(from io.Reader) (kind byte, message []byte, err error) {
	message = make([]byte, 5)
	if _, err := io.ReadFull(from, message); err != nil {
		return 0, nil, err
	}
	size := binary.BigEndian.Uint32(message[1:])
	message = append(message, make([]byte, size-4)...)
	_, err = io.ReadFull(from, message[5:])
	return message[0], message, err
}

// answer passes the server's messages on until it is ready, and returns its
// status.
func answer(server io.Reader, client io.Writer) (status byte, err error) {
	for {
		kind, message, err := readMessage(server)
		if err != nil {
			return 0, err
		}
		if _, err := client.Write(message); err != nil {
			return 0, err
		}
		if kind == readyForQuery {
			return message[5], nil
		}
	}
}

func TestBehindAPooler(t *testing.T) {
	url := server.Server(t).Database(t)
	address, p := startPooler(t, url)
	pooled := pgtest.ByTCP(url, address)
	var nodes [2]*Store
	for i := range nodes {
		nodes[i] = openAt(t, pooled, Options{Serving: true}) // which migrates
		defer closeNow(t, nodes[i])
	}
	a, err := petcat.ParseNewAccount("zoo", mustSubscription(t))
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for client := range 12 {
		s := nodes[client%2]
		wg.Go(func() {
			for n := range 20 {
				key := petcat.IdempotencyKey(fmt.Sprintf("%d/%d", client/2, n)) // two clients each
				for {
					_, err := tryCreate(t.Context(), t, s, "Dogs", key)
					if err == nil {
						break
					}
					if petcat.CodeOf(err) != petcat.CodeIdempotencyInProgress {
						t.Errorf("create: %v", err)
						return
					}
				}
				if _, err := s.CategoriesSince(t.Context(), 0, func(petcat.RevisedCategory) error { return nil }); err != nil {
					t.Errorf("feed: %v", err)
				}
				if _, err := s.AccessChangesSince(t.Context(), 0); err != nil {
					t.Errorf("changes: %v", err)
				}
				if _, err := s.LeaseDays(t.Context(), aDayCall(), []petcat.DayLease{{Account: 1, Day: 1, Want: 1, Quota: 1000}}); err != nil {
					t.Errorf("lease: %v", err)
				}
			}
			if client == 0 {
				created, err := s.CreateAccount(t.Context(), "cli:ada", a)
				if err == nil {
					_, err = s.CloseAccount(t.Context(), "cli:ada", created.ID)
				}
				if err != nil {
					t.Errorf("account: %v", err)
				}
			}
		})
	}
	wg.Wait()
	if got := len(names(t, nodes[0])); got != 6*20 {
		t.Errorf("%d categories, want %d", got, 6*20)
	}
	if leased, err := nodes[0].DayCount(t.Context(), 1, 1); err != nil || leased != 12*20 {
		t.Errorf("%d leased, %v; want %d", leased, err, 12*20)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.switches < 100 {
		t.Errorf("only %d transactions ran on another connection: the test is blind", p.switches)
	}
}

func mustSubscription(t *testing.T) petcat.Subscription {
	t.Helper()
	s, err := petcat.ParseSubscription("free", 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	return s
}
