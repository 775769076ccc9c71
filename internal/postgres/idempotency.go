package postgres

// release drops the claims of a group that was attempted. A request on another node
// with one of its keys waits for the commit, and finds the key.
func (s *Store) release(group []*createOp) {
	for _, o := range group {
		if o.IdempotencyKey != "" {
			s.claims.Drop(o.claim())
		}
	}
}
