package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"time"
)

// few is the length of a list whose length does not matter.
const few = 10

// many returns n, or a tenth of it in a quick run.
func (b *bench) many(n int) int {
	if b.quick {
		return n / 10
	}
	return n
}

// seeded creates a deployment on SQLite with existing categories and keys.
func (b *bench) seeded(ctx context.Context, categories, keys int) (*deployment, error) {
	d, err := b.deploy(ctx, fmt.Sprintf("seeded-%d-%d", categories, keys), "")
	if err != nil {
		return nil, err
	}
	return d, fill(ctx, d.data(), categories, keys)
}

// list compares the list of ten categories.
func (b *bench) list(ctx context.Context) error {
	n, err := b.node(ctx, "list", "", few)
	if err != nil {
		return err
	}
	bare, err := b.smallest(ctx, n.list(), "")
	if err != nil {
		return err
	}
	all, err := b.interleave(ctx, b.wrk("list of 10", n.list()), b.wrk("bare", bare))
	if err != nil {
		return err
	}
	b.report.compare(all[0], "bare", all[1], atLeast(0.88))
	return b.comparePocketBase(ctx, all[0].name, n.list(), (*pocketBase).list, atLeast(12))
}

// create compares durable creates with the smallest program that stores them, and with bare, which
// discards them.
func (b *bench) create(ctx context.Context) error {
	n, err := b.node(ctx, "create", "", 0)
	if err != nil {
		return err
	}
	smallest, err := b.smallest(ctx, n.create(), n.dir)
	if err != nil {
		return err
	}
	bare, err := b.smallest(ctx, n.create(), "")
	if err != nil {
		return err
	}
	all, err := b.interleave(ctx,
		b.wrk("durable create", n.create()), b.wrk("smallest", smallest), b.wrk("bare", bare))
	if err != nil {
		return err
	}
	b.report.compare(all[0], "smallest", all[1], atLeast(0.7))
	b.report.compare(all[0], "bare, without storage", all[2], bound{})
	return b.comparePocketBase(ctx, all[0].name, n.create(), (*pocketBase).create, atLeast(8))
}

// comparePocketBase compares a request with its equivalent to PocketBase. It is the last measurement of a
// group, because PocketBase keeps using the CPU for a while after the last request.
func (b *bench) comparePocketBase(
	ctx context.Context, what string, ours request, theirs func(*pocketBase) request, least bound,
) error {
	p, err := b.pocketBase(ctx)
	if err != nil {
		return err
	}
	all, err := b.interleave(ctx, b.wrk(what, ours), b.wrk("PocketBase", theirs(p)))
	if err == nil {
		b.report.compare(all[0], "PocketBase", all[1], least)
	}
	return err
}

// sizes shows that the server's own work does not grow with the list: a 304 takes all the work
// of a response except writing the list.
func (b *bench) sizes(ctx context.Context) error {
	var subjects []subject
	for _, n := range []int{few, 10_000, b.many(1_000_000)} {
		d, err := b.seeded(ctx, n, 0)
		if err != nil {
			return err
		}
		p, err := b.serve(ctx, d)
		if err != nil {
			return err
		}
		a, err := p.list().send(ctx)
		if err != nil {
			return err
		}
		unchanged := p.list("If-None-Match: " + a.header.Get("ETag"))
		unchanged.status = 304
		subjects = append(subjects, b.wrk("304 to the list of "+format(float64(n), ""), unchanged))
	}
	all, err := b.interleave(ctx, subjects...)
	if err != nil {
		return err
	}
	for _, s := range all[1:] {
		b.report.compare(s, "of 10", all[0], atLeast(0.9))
	}
	return nil
}

// starts measures the time until petcat is ready, and its memory at that moment.
func (b *bench) starts(ctx context.Context) error {
	categories, keys, most := b.many(1_000_000), b.many(100_000), b.many(1_000_000)
	large := fmt.Sprintf("start with %s categories, %s keys",
		format(float64(categories), ""), format(float64(keys), ""))
	manyKeys := fmt.Sprintf("start with %s keys", format(float64(most), ""))
	var subjects []subject
	var memory series
	for _, s := range []struct {
		name             string
		categories, keys int
	}{{large, categories, keys}, {manyKeys, 0, most}, {"start without any", 0, 0}} {
		d, err := b.seeded(ctx, s.categories, s.keys)
		if err != nil {
			return err
		}
		subjects = append(subjects, subject{s.name, "s", func(ctx context.Context, _ time.Duration) (float64, error) {
			p, err := b.serve(ctx, d)
			if err != nil {
				return 0, err
			}
			defer p.stop()
			mib, err := p.memory()
			if s.name == large {
				memory.values = append(memory.values, mib)
			}
			return p.readyIn.Seconds(), err
		}})
	}
	all, err := b.interleave(ctx, subjects...)
	if err != nil {
		return err
	}
	more := median(all[1].values) - median(all[2].values)
	b.report.value(large+": ready", "s", median(all[0].values), atMost(2))
	b.report.value(large+": resident memory", "MiB", median(memory.values), atMost(350))
	b.report.value(manyKeys+": ready, beyond a start without any", "s", more, atMost(3))
	cmd := exec.CommandContext(ctx, "go", "test",
		"-run", "^$",
		"-bench", "^BenchmarkLoad$",
		"-benchtime", "1x",
		"./internal/keyring",
	)
	cmd.Dir = b.root
	heap, err := output(cmd, number(`([\d.]+) MB\b`))
	if err == nil {
		b.report.value("live heap of 1,000,000 keys", "MB", heap, atMost(150))
	}
	return err
}

// binary measures the size of the stripped program.
func (b *bench) binary(context.Context) error {
	info, err := os.Stat(b.program("petcat"))
	if err == nil {
		b.report.value("binary", "MB", float64(info.Size())/1e6, atMost(39))
	}
	return err
}
