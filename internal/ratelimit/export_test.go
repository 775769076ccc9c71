package ratelimit

// Sweep drops what is idle now instead of within a minute.
func (m *Memory) Sweep() { m.sweep() }
