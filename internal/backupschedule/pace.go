package backupschedule

import (
	"context"
	"time"

	"petcat/internal/clock"
	"petcat/internal/osfile"
)

const (
	// workFor is how long it works before it rests.
	workFor = time.Millisecond
	// restFactor is how many times as long it then rests. It takes a twentieth of one
	// processor, or of the disk, so that creates lose at most a tenth, with the garbage that
	// is to be collected and the syncs of the file, even where there is no other.
	restFactor = 19
	// syncEvery is how many bytes are written before they are synced. One sync of a whole
	// large file at the end would delay the syncs of commits.
	syncEvery = 4 << 20
)

// pace slows work down.
type pace struct {
	clock clock.Clock
	begun clock.Reading
}

func newPace(c clock.Clock) *pace { return &pace{clock: c, begun: c.Read()} }

// rest waits after workFor of work, and reports whether that much work was done.
func (p *pace) rest(ctx context.Context) (worked bool, err error) {
	took := p.clock.Read().Since(p.begun)
	if took < workFor {
		return false, nil
	}
	timer := time.NewTimer(restFactor * took)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return true, context.Cause(ctx)
	case <-timer.C:
	}
	p.begun = p.clock.Read()
	return true, nil
}

// syncing is a file that syncs itself.
type syncing struct {
	file     *osfile.Draft
	unsynced int
}

func (s *syncing) Write(b []byte) (int, error) {
	n, err := s.file.Write(b)
	s.unsynced += n
	if err == nil && s.unsynced >= syncEvery {
		s.unsynced = 0
		err = s.file.Sync()
	}
	return n, err
}
