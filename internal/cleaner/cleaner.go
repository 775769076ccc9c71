// Package cleaner repeats, in the background, the deletion of what has expired. It
// does not know what that is, nor where: a store gives it a function. When the
// store is away, it says so in the log, and tries again in a minute: a deletion
// that comes late changes nothing that anybody can see.
package cleaner

import (
	"context"
	"log/slog"
	"time"
)

// every is how often what has expired is deleted.
const every = time.Minute

// Run calls clean every minute until ctx ends.
func Run(ctx context.Context, logger *slog.Logger, clean func(context.Context) error) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if err := clean(ctx); err != nil && ctx.Err() == nil {
			logger.WarnContext(ctx, "what has expired could not be deleted; trying again in a minute", "error", err)
		}
	}
}
