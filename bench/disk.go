package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"petcat/bench/report"
)

// oneConnection compares a create by a single client with what it cannot go
// below: the disk's write and sync, and a request.
func (s *suite) oneConnection(ctx context.Context, group string) error {
	c, err := s.startCreating(ctx, "one")
	if err != nil {
		return err
	}
	defer c.stop()
	var disk []float64
	bound := report.Column{Name: "disk + bare"}
	var ours []float64
	err = s.inTurns(func(int) error {
		sync, err := diskSync(ctx, c.dir, s.duration)
		if err != nil {
			return err
		}
		m, err := s.compare(ctx, group, 1, c.bare, c.petcat)
		if err != nil {
			return err
		}
		disk = append(disk, micros(sync))
		bound.Values = append(bound.Values, micros(sync)+report.Median(m.of(bareCreate, p50).Values))
		ours = append(ours, report.Median(m.of(petcatCreate, p50).Values))
		s.say("   disk: %.0f µs to write and sync", micros(sync))
		return nil
	})
	if err != nil {
		return err
	}
	s.add(
		report.Compare(group, "latency of a durable create, one connection, median", "µs", ours, bound, report.AtMost(1.1)),
		report.Measure(group, "the disk's write and fdatasync, median", "µs", disk, report.Figure{}),
	)
	return nil
}

// What the disk is asked to do: one page of a database, over and over in a file
// that does not grow, as a write-ahead log does that is used again.
const (
	diskPage = 4 << 10
	diskFile = 4 << 20
)

// diskSync returns the median time of a write and an fdatasync.
func diskSync(ctx context.Context, dir string, d time.Duration) (_ time.Duration, err error) {
	path := filepath.Join(dir, "disk")
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|os.O_TRUNC, 0o600)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, file.Close(), os.Remove(path)) }()
	if _, err := file.Write(make([]byte, diskFile)); err != nil {
		return 0, err
	}
	if err := file.Sync(); err != nil {
		return 0, err
	}
	page := make([]byte, diskPage)
	for i := range page {
		page[i] = byte(i)
	}
	var took []float64
	for start, at := time.Now(), int64(0); time.Since(start) < d && ctx.Err() == nil; at = (at + diskPage) % diskFile {
		begun := time.Now()
		if _, err := file.WriteAt(page, at); err != nil {
			return 0, err
		}
		if err := unix.Fdatasync(int(file.Fd())); err != nil {
			return 0, err
		}
		took = append(took, float64(time.Since(begun)))
	}
	return time.Duration(report.Median(took)), ctx.Err()
}
