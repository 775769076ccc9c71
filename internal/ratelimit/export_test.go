package ratelimit

// Sweep drops what is idle now instead of within a minute.
func (m *Memory) Sweep() { m.sweep() }

// Drain waits until the store was asked everything that came up.
func (m *Memory) Drain() {
	for range 3 { // the channel holds one: the third gets in when the first is done
		m.queue.wake <- struct{}{}
	}
}
