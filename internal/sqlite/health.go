package sqlite

import "context"

const (
	// fullBelow is how much room a disk has that is taken for full: little more
	// than one write needs, and what the log of writes has already may be less.
	fullBelow = 64 << 10
	// roomAgain is how much it must have before a write is tried to find out
	// whether writes work again: more than is left over when a large one finds none.
	roomAgain = 1 << 20
)

// Check asks the database how it is, for health checks: whether it answers, whether
// its disk has room, and, after a write that was refused, whether writes work
// again. What it finds of writes is in Stats.
func (s *Store) Check(ctx context.Context) error {
	var one int
	if err := s.readers.QueryRowContext(ctx, "SELECT 1 FROM counter").Scan(&one); err != nil {
		return translate(err, "check")
	}
	free, err := s.dir.FreeBytes()
	if err != nil {
		return nil //nolint:nilerr // writes tell
	}
	s.full.Store(free < fullBelow)
	if s.refused.Load() && free >= roomAgain {
		// Its outcome is noted where writes are committed.
		_, _ = engine{s}.Exec(ctx, "try to write", "UPDATE counter SET revision = revision")
	}
	return nil
}
