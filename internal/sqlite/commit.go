package sqlite

import (
	"errors"
	"fmt"

	lib "modernc.org/sqlite/lib"

	"petcat"
	"petcat/internal/groupcommit"
	"petcat/internal/store"
)

// commit makes a group durable. It is the committer's function.
func (s *Store) commit(group []*op) error {
	err := s.writer.commit(group)
	if err != nil && severityOf(err) == statement && !isCommitError(err) && len(group) > 1 {
		// One of them is wrong, and the others must not fail with it: each gets a
		// transaction of its own.
		for _, o := range group {
			if err = s.commitAlone(o); err != nil {
				break
			}
		}
	}
	if err == nil && s.serving {
		err = s.checkpoint()
	}
	for _, o := range group {
		if o.change == nil {
			s.Release(o.create)
		}
	}
	s.refused.Store(err != nil && refusesWrites(err))
	switch {
	case err == nil:
		return nil
	case severityOf(err) == fatal || isCommitError(err):
		s.logger.Error("writes are stopped after a disk failure: restart the program to recover from what is on disk", "error", err)
		return groupcommit.Poison(store.Unavailable("nothing can be stored at the moment, and this write may or may not have happened; retry it later with the same Idempotency-Key", fmt.Errorf("%w: %w", petcat.ErrOutcomeUnknown, err)))
	case severityOf(err) == temporary:
		return store.Unavailable("nothing can be stored at the moment; retry later with the same Idempotency-Key", err)
	default:
		return err
	}
}

// changeError says what it means for a change that its whole group failed. Errors of
// groups are worded for callers of the API; these are worded for operators.
func changeError(err error) error {
	cause := err
	if e, ok := errors.AsType[*petcat.Error](err); ok {
		cause = e.Unwrap()
	}
	switch {
	case groupcommit.Refused(err), errors.Is(err, petcat.ErrOutcomeUnknown):
		return err
	case resultCode(err)&0xff == lib.SQLITE_FULL:
		return store.Unavailable("nothing was changed, because the disk is full; free some space and try again", cause)
	case isBusy(err):
		return store.Unavailable("nothing was changed, because another program keeps the database locked; try again when that has finished", cause)
	case severityOf(err) == temporary:
		return store.Unavailable("nothing was changed, because the database cannot be written at the moment; try again later", cause)
	default:
		return err
	}
}

// commitAlone commits one operation of a group whose transaction failed. An
// error that concerns it alone becomes its outcome.
func (s *Store) commitAlone(o *op) error {
	o.outcome = nil
	err := s.writer.commit([]*op{o})
	if err != nil && severityOf(err) == statement && !isCommitError(err) {
		o.outcome = err
		return nil
	}
	return err
}

// checkpoint keeps the log short. Without room that has to wait.
func (s *Store) checkpoint() error {
	err := s.writer.checkpoint()
	switch {
	case err == nil:
		return nil
	case severityOf(err) == temporary:
		s.logger.Warn("the checkpoint failed; the write-ahead log grows until one succeeds; nothing is lost", "error", err)
		return nil
	default:
		return &commitError{err}
	}
}

// commitError is an error after which nobody knows whether the group is durable.
type commitError struct{ error }

func (e *commitError) Unwrap() error { return e.error }

func isCommitError(err error) bool {
	_, ok := errors.AsType[*commitError](err)
	return ok
}

// commit runs a group in one transaction. After an error the connection is gone,
// unless the error is fatal: then nothing is touched any more.
func (w *writer) commit(group []*op) error {
	changed, err := w.transact(group)
	if err != nil && severityOf(err) != fatal && !isCommitError(err) {
		w.disconnect()
	}
	if err == nil && len(changed) > 0 && w.committed != nil {
		w.committed(changed)
	}
	return err
}

func (w *writer) transact(group []*op) (changed []petcat.RevisedCategory, err error) {
	if w.conn == nil {
		if err := w.connect(w.life); err != nil {
			return nil, fmt.Errorf("connect: %w", err)
		}
	}
	t, err := begin(w)
	if err != nil {
		return nil, fmt.Errorf("begin: %w", err)
	}
	for _, o := range group {
		if err := t.run(o); err != nil {
			return nil, err
		}
	}
	if err := t.Finish(); err != nil {
		return nil, err
	}
	if err := w.checkFile(); err != nil {
		return nil, err
	}
	if err := w.exec("COMMIT"); err != nil {
		err = fmt.Errorf("commit: %w", err)
		if neverCommitted(err) {
			return nil, err
		}
		return nil, &commitError{err}
	}
	return t.ChangedCategories(), nil
}
