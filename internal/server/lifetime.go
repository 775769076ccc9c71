package server

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

// lifetime holds a node's background goroutines, and the functions that the node calls when it closes.
type lifetime struct {
	background context.Context //nolint:containedctx // of the goroutines in running
	stop       context.CancelFunc
	running    sync.WaitGroup
	closers    []func(context.Context) error // close runs them in reverse order
}

// newLifetime returns a lifetime that ignores the cancellation of ctx: requests in flight need the background
// goroutines until the node closes.
func newLifetime(ctx context.Context) *lifetime {
	background, stop := context.WithCancel(context.WithoutCancel(ctx))
	return &lifetime{background: background, stop: stop}
}

// onClose registers fn to run at close, before the functions registered earlier.
func (l *lifetime) onClose(fn func(context.Context) error) { l.closers = append(l.closers, fn) }

// run calls fn in the background. fn must return when its context is canceled.
func (l *lifetime) run(fn func(context.Context)) {
	l.running.Go(func() { fn(l.background) })
}

// repeat calls fn in the background until the node closes. Before each call it waits for the
// duration that wait returns.
func (l *lifetime) repeat(wait func() time.Duration, fn func(context.Context)) {
	l.run(func(ctx context.Context) {
		for {
			select {
			case <-ctx.Done():
				return
			case <-time.After(wait()):
				fn(ctx)
			}
		}
	})
}

func (l *lifetime) every(interval time.Duration, fn func(context.Context)) {
	l.repeat(func() time.Duration { return interval }, fn)
}

// close stops the background goroutines, and calls the functions of onClose in reverse order.
func (l *lifetime) close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
	defer cancel()
	l.stop()
	l.running.Wait()
	var errs []error
	for _, fn := range slices.Backward(l.closers) {
		errs = append(errs, fn(ctx))
	}
	return errors.Join(errs...)
}
