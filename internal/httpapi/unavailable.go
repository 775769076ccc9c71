package httpapi

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"petcat/internal/clock"
)

// unavailableLog logs why requests got 503: at most one line a second, with the number of
// others since the last line. During an outage every request fails for the same reason, and
// the access log has them all.
type unavailableLog struct {
	logger *slog.Logger
	clock  clock.Clock

	mu      sync.Mutex
	next    int64 // guarded by mu; monotonic nanoseconds: no line before
	skipped int   // guarded by mu; requests since the last line
}

const unavailableLogPause = time.Second

// note logs one request that could not be served, or only counts it.
func (l *unavailableLog) note(ctx context.Context, attrs []any) {
	now := l.clock.Read().Mono
	l.mu.Lock()
	if now < l.next {
		l.skipped++
		l.mu.Unlock()
		return
	}
	skipped := l.skipped
	l.next, l.skipped = now+int64(unavailableLogPause), 0
	l.mu.Unlock()
	l.logger.WarnContext(ctx, "a request could not be served", append(attrs, "others_since_last_line", skipped)...)
}
