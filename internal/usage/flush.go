package usage

import (
	"context"
	"time"

	"petcat"
)

// Open sets the store. The first Flush registers the node there.
func (r *Recorder) Open(store Store) { r.store = store }

// Flush writes the counts since the last call. Counts that cannot be written wait for the
// next call.
func (r *Recorder) Flush(ctx context.Context) {
	if r.write(ctx, false) {
		r.writeRefusals(ctx)
	}
}

// Close writes everything, and that the node has ended, until it succeeds or ctx ends. No
// request may be counted any more.
func (r *Recorder) Close(ctx context.Context) {
	if r.store == nil {
		return
	}
	for !r.write(ctx, true) && ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-time.After(Interval / 10):
		}
	}
	if ctx.Err() != nil {
		r.Logger.Warn("the usage history may lack what was counted last: it could not be written before the node ended")
		return
	}
	r.writeRefusals(ctx)
}

// Unsaved returns for how long some counts may not have been written: the time since all of
// them were.
func (r *Recorder) Unsaved() time.Duration {
	return time.Duration(r.Clock.Read().Mono - r.saved.Load())
}

// write writes the pending batches and the new counts, and reports whether all are written.
// last says that the node ends.
func (r *Recorder) write(ctx context.Context, last bool) (done bool) {
	if !r.send(ctx) {
		return false
	}
	now := r.Clock.Read()
	taken := r.take()
	if len(taken.Counts) > 0 || len(taken.Keys) > 0 || last || r.number == 0 || time.Duration(now.Mono-r.wrote) >= beat {
		r.prepare(taken, now.Time(), last)
		if !r.send(ctx) {
			return false
		}
	}
	r.saved.Store(now.Mono)
	return true
}

// take returns the counts since the last call. It holds the lock of a shard only while it
// replaces the shard's counts by empty ones.
func (r *Recorder) take() petcat.UsageBatch {
	var b petcat.UsageBatch
	all := make(map[int64]petcat.UsageCounts) // of all accounts, by minute
	for i := range r.shards {
		s := &r.shards[i]
		s.mu.Lock()
		if len(s.counts.values) == 0 {
			s.mu.Unlock()
			continue
		}
		r.taken, s.counts = s.counts, r.taken
		s.mu.Unlock()
		for at, i := range r.taken.at {
			c := r.taken.values[i]
			sum := all[at.minute]
			sum.Add(c.UsageCounts)
			all[at.minute] = sum
			if at.account != petcat.AllAccounts {
				b.Counts = append(b.Counts, petcat.UsageCount{Account: at.account, Minute: at.minute, UsageCounts: c.UsageCounts})
			}
			if at.key != 0 {
				b.Keys = append(b.Keys, petcat.KeyUse{Key: at.key, At: time.Unix(c.last, 0).UTC()})
			}
		}
		r.taken.clear()
	}
	for minute, c := range all {
		b.Counts = append(b.Counts, petcat.UsageCount{Account: petcat.AllAccounts, Minute: minute, UsageCounts: c})
	}
	return b
}

// prepare divides the counts up to the given time into pending batches.
func (r *Recorder) prepare(taken petcat.UsageBatch, until time.Time, last bool) {
	for first := true; first || len(taken.Counts) > 0 || len(taken.Keys) > 0; first = false {
		counts, keys := min(batchCounts, len(taken.Counts)), min(batchCounts, len(taken.Keys))
		r.number++
		r.pending = append(r.pending, petcat.UsageBatch{
			Node: r.Node, Number: r.number, Until: r.until, Counts: taken.Counts[:counts:counts], Keys: taken.Keys[:keys:keys],
		})
		taken.Counts, taken.Keys = taken.Counts[counts:], taken.Keys[keys:]
	}
	b := &r.pending[len(r.pending)-1] // only after the last batch is everything written
	b.Until, b.Ended = until, last
}

// send writes the pending batches, and reports whether all are written.
func (r *Recorder) send(ctx context.Context) bool {
	for len(r.pending) > 0 {
		b := r.pending[0]
		limited, cancel := context.WithTimeout(ctx, addTimeout)
		err := r.store.AddUsage(limited, b)
		cancel()
		if err != nil {
			if ctx.Err() != nil {
				return false // it was interrupted, by Close or in it
			}
			if !r.failing {
				r.Logger.WarnContext(ctx, "the usage history could not be written; what is counted waits in memory", "error", err)
			}
			r.failing = true
			return false
		}
		if r.failing {
			r.Logger.InfoContext(ctx, "the usage history is written again")
		}
		r.failing, r.until, r.wrote = false, b.Until, r.Clock.Read().Mono
		r.pending = r.pending[1:]
	}
	r.pending = nil
	return true
}
