package main

import (
	"context"
	"debug/elf"
	"errors"
	"os"

	"petcat/bench/report"
	"petcat/bench/seed"
)

// million is what a large deployment has, of categories or of accounts.
const million = 1_000_000

// start measures how long petcat takes until it is ready, and the memory that it
// has then.
func (s *suite) start(ctx context.Context, group string) error {
	empty, err := s.fresh(ctx, "empty")
	if err != nil {
		return err
	}
	many, err := s.with(ctx, million)
	if err != nil {
		return err
	}
	s.say("   filling a database with %s accounts", thousand(million))
	crowded, err := s.fresh(ctx, "crowded")
	if err != nil {
		return err
	}
	if err := seed.Accounts(ctx, crowded.Data, million); err != nil {
		return err
	}
	for _, c := range []struct {
		what          string
		data          *prepared
		ready, memory report.Figure
	}{
		{"empty", empty, report.AtMost(0.2), report.Figure{}},
		{"1,000,000 categories", many, report.AtMost(2), report.AtMost(250)},
		{"1,000,000 accounts", crowded, report.AtMost(2), report.AtMost(250)},
	} {
		var ready, memory, peak []float64
		for range s.rounds {
			p, err := c.data.Serve(ctx)
			if err != nil {
				return err
			}
			used, err := p.Usage()
			p.Stop()
			if err != nil {
				return err
			}
			ready = append(ready, p.ReadyIn.Seconds())
			memory = append(memory, float64(used.Memory)/(1<<20))
			peak = append(peak, float64(used.PeakMem)/(1<<20))
			s.say("   %s: ready in %.3f s, %.0f MiB", c.what, p.ReadyIn.Seconds(), float64(used.Memory)/(1<<20))
		}
		row := report.Measure(group, "resident memory then, "+c.what, "MiB", memory, c.memory)
		row.Note = "peak " + report.Format(report.Median(peak), "MiB")
		s.add(report.Measure(group, "start to ready, "+c.what, "s", ready, c.ready), row)
	}
	return nil
}

// binary looks at the program itself.
func (s *suite) binary(_ context.Context, group string) error {
	path := s.tools["petcat"].path
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	program, err := elf.Open(path)
	if err != nil {
		return err
	}
	// An error says that the program has no dynamic section, which is well.
	libraries, _ := program.ImportedLibraries()
	needs := len(libraries)
	for _, p := range program.Progs {
		if p.Type == elf.PT_INTERP {
			needs++
		}
	}
	s.add(
		report.Measure(group, "binary", "MB", []float64{float64(info.Size()) / 1e6}, report.AtMost(30)),
		report.Measure(group, "loaders and libraries that it needs", "", []float64{float64(needs)}, report.AtMost(0)),
	)
	return errors.Join(program.Close())
}
