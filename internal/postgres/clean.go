package postgres

import (
	"context"
	"time"
)

// spentEvery is how often old counts are deleted: the query reads the whole table.
const spentEvery = time.Hour

// Clean deletes everything that has expired: also the counts, which only PostgreSQL has.
func (s *Store) Clean(ctx context.Context) error {
	if err := s.Store.Clean(ctx); err != nil {
		return err
	}
	now := s.clock.Read()
	if now.Since(s.spentCleaned) < spentEvery {
		return nil
	}
	s.spentCleaned = now
	return s.cleanSpent(ctx)
}
