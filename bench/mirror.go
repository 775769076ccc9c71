package main

import (
	"context"
	"fmt"
	"net/url"
	"regexp"
	"strconv"
	"time"
)

// mirror compares the ways to update a copy of 100,000 categories after 1 % have changed, and an empty
// request for changes with a 304.
func (b *bench) mirror(ctx context.Context) error {
	const page = "?limit=1000"
	count := b.many(100_000)
	d, err := b.seeded(ctx, count, 0)
	if err != nil {
		return err
	}
	n, err := b.serve(ctx, d)
	if err != nil {
		return err
	}
	copied, err := follow(ctx, n.get("/changes"+page))
	if err != nil {
		return err
	}
	for i := 1; i <= count; i += 100 {
		change := n.get("/" + strconv.Itoa(i))
		change.method, change.body = "PATCH", `{"name":"Wolves"}`
		change.header = append(change.header, contentType)
		if _, err := change.send(ctx); err != nil {
			return err
		}
	}
	for _, way := range []struct {
		name string
		from request
	}{
		{"the whole list", n.list()},
		{"the list in pages of 1,000", n.get(page)},
		{"the changes in pages of 1,000", copied.next},
	} {
		begun := time.Now()
		read, err := follow(ctx, way.from)
		if err != nil {
			return err
		}
		took := float64(time.Since(begun).Microseconds()) / 1000
		b.report.value(way.name, "ms", took, bound{})
		b.report.value(fmt.Sprintf("  in %d requests", read.requests), "KB", float64(read.bytes)/1000, bound{})
		copied.next = read.next // of the last way: after all changes
	}
	current, err := n.list().send(ctx)
	if err != nil {
		return err
	}
	unchanged := n.list("If-None-Match: " + current.header.Get("ETag"))
	unchanged.status = 304
	all, err := b.interleave(ctx, b.wrk("changes without any", copied.next), b.wrk("304", unchanged))
	if err != nil {
		return err
	}
	b.report.compare(all[0], "304", all[1], atLeast(1))
	return nil
}

// get returns a GET of a path or query after /v1/categories.
func (n *node) get(rest string) request {
	r := n.list()
	r.url += rest
	return r
}

// followed is what follow has read.
type followed struct {
	requests, bytes int
	next            request // after the last page
}

var nextLink = regexp.MustCompile(`<([^>]*)>; rel="next"`)

// follow sends a request, and those of its next links until a page is empty or has no link.
func follow(ctx context.Context, r request) (f followed, err error) {
	for {
		a, err := r.send(ctx)
		if err != nil {
			return f, err
		}
		f.requests++
		f.bytes += len(a.wire)
		link := nextLink.FindStringSubmatch(a.header.Get("Link"))
		if link == nil {
			return f, nil
		}
		base, err := url.Parse(r.url)
		if err != nil {
			return f, err
		}
		next, err := base.Parse(link[1])
		if err != nil {
			return f, err
		}
		r.url = next.String()
		f.next = r
		if len(a.body) == len("[]") {
			return f, nil
		}
	}
}
