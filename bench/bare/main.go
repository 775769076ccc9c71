// Command bare sends the responses that it once got from petcat, and does nothing
// else: it shows what net/http itself costs. GET returns the list; POST reads and
// decodes its body, stores nothing, and returns the response to a create.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"

	"github.com/go-json-experiment/json"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "bare:", err)
		os.Exit(1)
	}
}

func run() error {
	listen := flag.String("listen", "127.0.0.1:0", "`address`")
	var list, created answer
	flag.StringVar(&list.headerFile, "list-header", "", "`file` with the header of the list, a line each")
	flag.StringVar(&list.bodyFile, "list-body", "", "`file` with the list")
	flag.StringVar(&created.headerFile, "create-header", "", "`file` with the header of the answer to a create")
	flag.StringVar(&created.bodyFile, "create-body", "", "`file` with the answer to a create")
	flag.Parse()
	for _, a := range []*answer{&list, &created} {
		if err := a.load(); err != nil {
			return err
		}
	}
	bodies := sync.Pool{New: func() any { return new(bytes.Buffer) }}
	handler := func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			list.write(w, http.StatusOK)
			return
		}
		body := bodies.Get().(*bytes.Buffer)
		defer bodies.Put(body)
		body.Reset()
		var category struct {
			Name        string  `json:"name"`
			Description *string `json:"description"`
		}
		_, err := body.ReadFrom(r.Body)
		if err == nil {
			err = json.Unmarshal(body.Bytes(), &category)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		created.write(w, http.StatusCreated)
	}
	// No timeouts: each would cost the yardstick a little.
	server := http.Server{Addr: *listen, Handler: http.HandlerFunc(handler)} //nolint:gosec // on loopback, for a few minutes
	return server.ListenAndServe()
}

// answer is what is written. The slices of the header are made once.
type answer struct {
	headerFile, bodyFile string
	header               []line
	body                 []byte
}

type line struct {
	name  string
	value []string
}

func (a *answer) load() error {
	if a.headerFile == "" {
		return nil
	}
	text, err := os.ReadFile(a.headerFile)
	if err != nil {
		return err
	}
	for l := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(strings.TrimSpace(l), ": ")
		a.header = append(a.header, line{name, []string{value}})
	}
	a.body, err = os.ReadFile(a.bodyFile)
	return err
}

func (a *answer) write(w http.ResponseWriter, status int) {
	header := w.Header()
	for _, l := range a.header {
		header[l.name] = l.value
	}
	w.WriteHeader(status)
	_, _ = w.Write(a.body) // the reader may have gone
}
