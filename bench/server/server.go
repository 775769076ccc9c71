package server

import (
	"context"
	"net/http"
	"path/filepath"
	"time"
)

// Server is a program that answers HTTP.
type Server struct {
	*Process
	Name string
	URL  string // without a slash at the end
}

// launch starts a server and waits until it answers anything at URL + path.
func launch(ctx context.Context, l Launch, address, path string) (*Server, error) {
	p, err := startProcess(ctx, l)
	if err != nil {
		return nil, err
	}
	s := &Server{Process: p, Name: l.Name, URL: "http://" + address}
	err = p.awaitReady(ctx, 10*time.Millisecond, func() bool {
		status, _ := s.get(ctx, path)
		return status != 0
	})
	if err != nil {
		p.Stop()
		return nil, err
	}
	return s, nil
}

// get returns the status of an answer.
func (s *Server) get(ctx context.Context, path string) (int, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL+path, nil)
	if err != nil {
		return 0, err
	}
	r.Close = true
	client := http.Client{Timeout: readyTimeout, Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := client.Do(r)
	if err != nil {
		return 0, err
	}
	return res.StatusCode, res.Body.Close()
}

// Bare starts the server that does nothing but write an answer.
func Bare(ctx context.Context, program, dir string, answer Files) (*Server, error) {
	address, err := freeAddress(ctx)
	if err != nil {
		return nil, err
	}
	return launch(ctx, Launch{
		Name: "bare", Dir: dir, Path: program,
		Args: []string{
			"-listen", address,
			"-list-header", answer.ListHeader, "-list-body", answer.ListBody,
			"-create-header", answer.CreateHeader, "-create-body", answer.CreateBody,
		},
	}, address, "/")
}

// Files hold petcat's own answers: headers as lines, and bodies.
type Files struct {
	ListHeader, ListBody, CreateHeader, CreateBody string
}

// FilesIn returns where Files are in a directory.
func FilesIn(dir string) Files {
	return Files{
		ListHeader: filepath.Join(dir, "list.header"), ListBody: filepath.Join(dir, "list.json"),
		CreateHeader: filepath.Join(dir, "create.header"), CreateBody: filepath.Join(dir, "create.json"),
	}
}
