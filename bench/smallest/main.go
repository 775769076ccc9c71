// Command smallest is the yardstick of one node: the smallest program that does the same. It sends the
// response in a file to every request. If it has a database, it stores the category of each POST, many
// in one transaction with one sync. It does not have keys, limits, a log or metrics.
package main

import (
	"bufio"
	"bytes"
	"cmp"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"runtime"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	_ "modernc.org/sqlite" // the driver
)

func main() {
	var s server
	address := flag.String("listen", "", "serve on this `address`")
	response := flag.String("response", "", "send the response in this `file`")
	database := flag.String("database", "", "store categories in this new `file`; by default, discard them")
	cert := flag.String("cert", "", "serve over TLS with the certificate and the key in this `file`")
	flag.Parse()
	err := errors.Join(s.read(*response), s.open(*database))
	if err == nil {
		err = s.serve(*address, *cert)
	}
	fmt.Fprintln(os.Stderr, "smallest:", err)
	os.Exit(1)
}

type server struct {
	status int
	header http.Header
	body   []byte
	bodies sync.Pool
	queue  chan *category // nil without a database
}

type category struct {
	Name        string     `json:"name"`
	Description *string    `json:"description"`
	saved       chan error // gets the outcome
}

// read reads the response.
func (s *server) read(file string) error {
	dump, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	response, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(dump)), nil)
	if err != nil {
		return err
	}
	s.status, s.header = response.StatusCode, response.Header
	s.header.Del("Date") // net/http sets it
	s.header.Del("Connection")
	s.bodies.New = func() any { return new(bytes.Buffer) }
	s.body, err = io.ReadAll(response.Body)
	return err
}

// serve serves with petcat's timeouts, which have a cost.
func (s *server) serve(address, cert string) error {
	server := http.Server{
		Addr:              address,
		Handler:           s,
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       15 * time.Second,
		WriteTimeout:      30 * time.Second,
		IdleTimeout:       time.Minute,
	}
	if cert != "" {
		return server.ListenAndServeTLS(cert, cert)
	}
	return server.ListenAndServe()
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodPost {
		if err := s.create(r.Body); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
	}
	h := w.Header()
	for name, values := range s.header {
		h[name] = values
	}
	w.WriteHeader(s.status)
	_, _ = w.Write(s.body) // the client may have disconnected
}

// create decodes a category, and waits until it is on disk.
func (s *server) create(body io.Reader) error {
	buffer := s.bodies.Get().(*bytes.Buffer)
	defer s.bodies.Put(buffer)
	buffer.Reset()
	if _, err := buffer.ReadFrom(body); err != nil {
		return err
	}
	c := category{saved: make(chan error, 1)}
	if err := json.Unmarshal(buffer.Bytes(), &c); err != nil || s.queue == nil {
		return err
	}
	s.queue <- &c
	return <-c.saved
}

// open creates the database, and starts to save categories.
func (s *server) open(file string) error {
	if file == "" {
		return nil
	}
	db, err := sql.Open("sqlite", "file:"+file+"?_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_txlock=immediate")
	if err != nil {
		return err
	}
	db.SetMaxOpenConns(1)
	_, err = db.Exec(`CREATE TABLE categories (id INTEGER PRIMARY KEY, name TEXT NOT NULL, description TEXT)`)
	if err != nil {
		return err
	}
	insert, err := db.Prepare(`INSERT INTO categories (name, description) VALUES (?, ?)`)
	s.queue = make(chan *category, 1024)
	go func() {
		for first := range s.queue {
			runtime.Gosched() // as petcat does: others are about to queue
			group := []*category{first}
			for range min(len(s.queue), 255) {
				group = append(group, <-s.queue)
			}
			err := save(db, insert, group)
			for _, c := range group {
				c.saved <- err
			}
		}
	}()
	return err
}

// save writes a group in one transaction.
func save(db *sql.DB, insert *sql.Stmt, group []*category) error {
	tx, err := db.Begin()
	if err != nil {
		return err
	}
	for _, c := range group {
		_, failed := tx.Stmt(insert).Exec(c.Name, c.Description)
		err = cmp.Or(err, failed)
	}
	if err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}
