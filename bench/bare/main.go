// Command bare sends the response in a file to every request, to measure the cost of net/http
// itself. It decodes the body of a POST and discards it.
package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
)

func main() {
	if err := run(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "bare:", err)
		os.Exit(1)
	}
}

func run(address, file string) error {
	dump, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	response, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(dump)), nil)
	if err != nil {
		return err
	}
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	header := response.Header
	header.Del("Date") // net/http sets it
	header.Del("Connection")
	bodies := sync.Pool{New: func() any { return new(bytes.Buffer) }}
	handler := func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			buffer := bodies.Get().(*bytes.Buffer)
			defer bodies.Put(buffer)
			buffer.Reset()
			var category struct {
				Name        string  `json:"name"`
				Description *string `json:"description"`
			}
			_, err := buffer.ReadFrom(r.Body)
			if err := errors.Join(err, json.Unmarshal(buffer.Bytes(), &category)); err != nil {
				http.Error(w, err.Error(), http.StatusBadRequest)
				return
			}
		}
		h := w.Header()
		for name, values := range header {
			h[name] = values
		}
		w.WriteHeader(response.StatusCode)
		_, _ = w.Write(body) // the client may have disconnected
	}
	server := http.Server{ // with petcat's timeouts, which have a cost
		Addr:              address,
		Handler:           http.HandlerFunc(handler),
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       15 * time.Second,
		WriteTimeout:      30 * time.Second,
		IdleTimeout:       time.Minute,
	}
	return server.ListenAndServe()
}
