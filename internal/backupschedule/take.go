package backupschedule

import (
	"context"
	"fmt"
	"os"

	"petcat/internal/backup"
	"petcat/internal/osfile"
)

// take makes a backup and verifies it. After an error there is no file.
func (s *Schedule) take(ctx context.Context, c *claim) (Backup, error) {
	begun := s.options.Clock.Read()
	if err := s.files.removeDrafts(); err != nil {
		return Backup{}, fmt.Errorf("remove what is left of earlier backups: %w", err)
	}
	path := s.files.path(begun.Time())
	draft, err := osfile.NewDraft(path)
	if err != nil {
		return Backup{}, err
	}
	defer draft.Discard()
	p := newPace(s.options.Clock)
	rest := func() error {
		worked, err := p.rest(ctx)
		if err != nil || !worked {
			return err
		}
		return c.keep(ctx)
	}
	h, size, err := s.write(ctx, path, draft, rest)
	if err == nil {
		err = verify(draft.Name(), rest)
	}
	if err == nil {
		err = draft.Keep(false)
	}
	if err != nil {
		return Backup{}, err
	}
	return Backup{
		TakenAt: h.TakenAt, Host: s.options.Host, File: path, Size: size, Seconds: s.options.Clock.Read().Since(begun).Seconds(),
	}, nil
}

// write writes the whole file, and syncs it.
func (s *Schedule) write(ctx context.Context, path string, to *osfile.Draft, rest func() error) (h backup.Header, size int64, err error) {
	w := backup.NewWriter(&syncing{file: to}, s.options.Version)
	if err := s.options.Store.BackupPaced(ctx, path, rest, w); err != nil {
		return h, 0, err
	}
	if h, size, err = w.Finish(); err != nil {
		return h, 0, err
	}
	return h, size, to.Sync()
}

// verify reads a file and returns an error unless it is whole and without faults.
func verify(path string, rest func() error) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	r, err := backup.NewReader(file)
	if err != nil {
		return err
	}
	defer r.Close()
	var c backup.Checker
	if err := r.CopyTo(backup.Paced(&c, rest)); err != nil {
		return err
	}
	if faults := c.Findings(); len(faults) > 0 {
		return fmt.Errorf("the data has faults, which petcat verify shows; the first of %d: %s", len(faults), faults[0])
	}
	return nil
}
