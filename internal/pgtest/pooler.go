package pgtest

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
)

// Pooler is a connection pooler in transaction mode: each transaction runs on any free server
// connection, here on the one that has been free for longest. While there are more server
// connections than clients, consecutive transactions of a client never share a connection.
type Pooler struct {
	t    testing.TB
	free chan net.Conn

	mu       sync.Mutex
	switches int // guarded by mu; see Switches
}

// The protocol messages that the pooler handles, by their first byte. Startup messages have a
// number instead.
const (
	sslRequest    = 80877103
	cancelRequest = 80877102
	syncing       = 'S'
	query         = 'Q'
	terminate     = 'X'
	readyForQuery = 'Z'
	idle          = 'I' // transaction status: not in a transaction
)

// StartPooler starts a pooler for a database and returns its address. It stops at the end of the
// test.
func StartPooler(t testing.TB, database string) (address string, p *Pooler) {
	t.Helper()
	const connections = 24
	p = &Pooler{t: t, free: make(chan net.Conn, connections)}
	for range connections {
		conn, err := pgx.Connect(t.Context(), database)
		if err != nil {
			t.Fatal(err)
		}
		raw, err := conn.PgConn().Hijack()
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

// Switches returns the number of transactions that ran on another connection than the client's
// previous transaction.
func (p *Pooler) Switches() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.switches
}

func (p *Pooler) serve(client net.Conn) error {
	if ok, err := greet(client); !ok || err != nil {
		return err
	}
	var current, last net.Conn // current: nil outside a transaction
	defer func() {
		if current != nil {
			_ = current.Close() // its state is unknown
		}
	}()
	for {
		kind, message, err := readMessage(client)
		if err != nil || kind == terminate {
			return err
		}
		if current == nil {
			current = <-p.free
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
		status, err := forward(current, client)
		if err != nil {
			return err
		}
		if status == idle {
			p.free <- current
			current = nil
		}
	}
}

// greet responds to a client's startup messages; ok is false if the client does not send queries. Like
// real poolers, it reports a made-up process number.
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
		hello = append(hello, readyForQuery, 0, 0, 0, 5, idle)
		_, err := client.Write(hello)
		return true, err
	}
}

// readMessage returns a whole message, and its first byte.
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

// forward forwards the server's messages until it is ready for a query, and returns its
// transaction status.
func forward(server io.Reader, client io.Writer) (status byte, err error) {
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
