package ratelimit

import "petcat"

// What several nodes tell each other of the keys that do not wait.

// KeyRetries is how many early retries a key of an account has made on this node.
type KeyRetries struct {
	Account petcat.AccountID
	Key     petcat.KeyID
	Retries int64
}

// shareMargin is by how many seconds the span is shorter in which the retries count
// that other nodes are told of: they hold what they were told for a while, and no
// retry may count for longer than the span.
const shareMargin = 4

// EarlyRetries returns the keys that have made early retries lately. Now returns the
// time by which an account is counted, in nanoseconds.
func (m *Memory) EarlyRetries(now func(petcat.AccountID) int64) (keys []KeyRetries) {
	for i := range m.shards {
		s := &m.shards[i]
		s.mu.Lock()
		for id, o := range s.histories {
			if o.recent == nil {
				continue
			}
			if n := o.recent.within(unixOf(now(o.account)), retrySpan-shareMargin); n > 0 {
				keys = append(keys, KeyRetries{Account: o.account, Key: id, Retries: n})
			}
		}
		s.mu.Unlock()
	}
	return keys
}

// SetRemoteRetries sets how many early retries a key has made on other nodes. They count
// until the second until of the Unix clock.
func (m *Memory) SetRemoteRetries(k KeyRetries, until int64) {
	s := m.shard(k.Account)
	s.mu.Lock()
	defer s.mu.Unlock()
	if o := s.histories[k.Key]; o != nil {
		o.elsewhere, o.until = k.Retries, until
	}
}

// within returns how many of the retries were made in the last span seconds before
// the end of a second.
func (r *retries) within(second, span int64) (n int64) {
	for back := range span {
		at := second - back
		if at <= r.second && at > r.second-retrySpan {
			n += int64(r.perSecond[(at%retrySpan+retrySpan)%retrySpan])
		}
	}
	return n
}
