package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"petcat/bench/report"
	"petcat/bench/seed"
)

const (
	// listUncounted and createUncounted are the subjects without the usage history.
	listUncounted   = "petcat list, not counted"
	createUncounted = "petcat create, not counted"
	// countingFile is where petcat counts a request for the usage history, by counting.
	countingFile = "internal/server/usage.go"
	counting     = "func (n *Node) countUsage(r *httpapi.Record) {\n"
)

// history compares lists and durable creates with those of a petcat that counts no
// request for the usage history, and so writes none.
func (s *suite) history(ctx context.Context, group string) error {
	program, err := s.buildUncounted(ctx)
	if err != nil {
		return err
	}
	ours, err := s.pair(ctx, "counted", s.tools["petcat"].path, petcatList, petcatCreate)
	if err != nil {
		return err
	}
	defer ours.stop()
	theirs, err := s.pair(ctx, "uncounted", program, listUncounted, createUncounted)
	if err != nil {
		return err
	}
	defer theirs.stop()
	lists, err := s.compare(ctx, group, connections, ours.list, theirs.list)
	if err != nil {
		return err
	}
	creates, err := s.compare(ctx, group, connections, ours.create, theirs.create)
	if err != nil {
		return err
	}
	s.add(
		lists.ratio(group, fmt.Sprintf("list of %d categories, %d connections", few, connections), "/s", petcatList, listUncounted, rate, report.AtLeast(0.95)),
		creates.ratio(group, fmt.Sprintf("durable create, %d connections", connections), "/s", petcatCreate, createUncounted, rate, report.AtLeast(0.95)),
	)
	return nil
}

// buildUncounted builds petcat with one line more: it returns where it would count.
func (s *suite) buildUncounted(ctx context.Context) (program string, err error) {
	original := filepath.Join(s.root, countingFile)
	source, err := os.ReadFile(original)
	if err != nil {
		return "", err
	}
	if n := strings.Count(string(source), counting); n != 1 {
		return "", fmt.Errorf("%s has %q %d times, want once", countingFile, counting, n)
	}
	changed := filepath.Join(s.work, "uncounted.go.txt")
	if err := os.WriteFile(changed, []byte(strings.Replace(string(source), counting, counting+"\treturn\n", 1)), 0o600); err != nil {
		return "", err
	}
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": {original: changed}})
	if err != nil {
		return "", err
	}
	file := filepath.Join(s.work, "overlay.json")
	if err := os.WriteFile(file, overlay, 0o600); err != nil {
		return "", err
	}
	return s.build(ctx, "uncounted", s.root, "./cmd/petcat", "-s -w", "-overlay", file)
}

// pair is one petcat with what is asked of it: lists before anything is created.
type pair struct {
	list, create subject
	stop         func()
}

func (s *suite) pair(ctx context.Context, name, program, list, create string) (p pair, err error) {
	data, err := s.fresh(ctx, name)
	if err != nil {
		return p, err
	}
	if err := seed.Categories(ctx, data.Data, few); err != nil {
		return p, err
	}
	data.Program = program
	running, err := data.Serve(ctx)
	if err != nil {
		return p, err
	}
	st := &started{Server: running, prepared: data, n: few}
	p.list, p.stop = st.get(list), running.Stop
	if p.create, err = st.post(create); err != nil {
		running.Stop()
	}
	return p, err
}
