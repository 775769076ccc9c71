package clusterlimit

import (
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"petcat/internal/randomtest"
)

// TestSimulations lets clusters go through schedules of faults, with fresh seeds and with
// those that once failed. PETCAT_SIMULATIONS is how many. PETCAT_SIMULATION replays one, by its
// seed and, after a colon, the events that remain.
func TestSimulations(t *testing.T) {
	t.Parallel()
	if replay := os.Getenv("PETCAT_SIMULATION"); replay != "" {
		s, err := parseSchedule(replay)
		if err != nil {
			t.Fatal(err)
		}
		if err := newWorld(s, mutation{}).run(); err != nil {
			t.Fatalf("%v\n%s", err, s)
		}
		return
	}
	n := 10_000
	if testing.Short() {
		n = 1_000
	}
	if s := os.Getenv("PETCAT_SIMULATIONS"); s != "" {
		var err error
		if n, err = strconv.Atoi(s); err != nil {
			t.Fatal(err)
		}
	}
	for _, seed := range randomtest.Kept(t) {
		if _, failed := simulate(seed, 1, mutation{}); failed != nil {
			reportFailure(t, failed, mutation{})
		}
	}
	first := rand.Uint64()
	t.Logf("%d schedules from seed %d", n, first)
	total, failed := simulate(first, n, mutation{})
	t.Logf("%+v", total)
	if failed != nil {
		randomtest.Keep(t, failed.seed)
		reportFailure(t, failed, mutation{})
	}
}

// simulate runs schedules until one fails, and returns it.
func simulate(first uint64, n int, change mutation) (total seen, failed *schedule) {
	var next, stop atomic.Int64
	var mu sync.Mutex
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			var mine seen
			for stop.Load() == 0 {
				i := next.Add(1) - 1
				if i >= int64(n) {
					break
				}
				s := newSchedule(first + uint64(i))
				w := newWorld(s, change)
				if w.run() != nil {
					stop.Store(1)
					mu.Lock()
					if failed == nil || s.seed < failed.seed {
						failed = s
					}
					mu.Unlock()
				}
				mine.add(w.oracle.seen)
			}
			mu.Lock()
			defer mu.Unlock()
			total.add(mine)
		})
	}
	wg.Wait()
	return total, failed
}

// reportFailure reports a failing schedule with as few events as possible.
func reportFailure(t *testing.T, s *schedule, change mutation) {
	t.Helper()
	s.shrink(change)
	err := newWorld(s, change).run()
	t.Errorf("%v\nPETCAT_SIMULATION=%d:%s go test ./internal/clusterlimit -run TestSimulations\n%s", err, s.seed, s.mask, s)
}

// shrink leaves out events as long as the schedule fails.
func (s *schedule) shrink(change mutation) {
	if s.mask == nil {
		s.mask = make(mask, len(s.events))
		for i := range s.mask {
			s.mask[i] = true
		}
	}
	for again := true; again; {
		again = false
		for i, has := range s.mask {
			if !has {
				continue
			}
			s.mask[i] = false
			if newWorld(s, change).run() == nil {
				s.mask[i] = true
			} else {
				again = true
			}
		}
	}
}

func (s *schedule) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d nodes, quotas %v, from %d ms into a minute\n", s.nodes, s.quotas, s.begin%60_000_000_000/1_000_000)
	for i, e := range s.events {
		if s.mask.has(i) {
			fmt.Fprintf(&b, "%3d %s\n", i, e)
		}
	}
	return b.String()
}

func parseSchedule(replay string) (*schedule, error) {
	seed, kept, masked := strings.Cut(replay, ":")
	n, err := strconv.ParseUint(seed, 10, 64)
	if err != nil {
		return nil, err
	}
	s := newSchedule(n)
	if masked {
		s.mask = make(mask, len(s.events))
		for i := range strings.SplitSeq(kept, ",") {
			k, err := strconv.Atoi(i)
			if err != nil || k >= len(s.events) {
				return nil, fmt.Errorf("no event %q", i)
			}
			s.mask[k] = true
		}
	}
	return s, nil
}

// TestMutants: the simulation finds the faults that it is for.
func TestMutants(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]mutation{
		"others leave room for nodes that are silent":          {silentAreCutOff: true},
		"each node admits the whole quota alone":               {wholeAlone: true},
		"a new epoch is not seen":                              {epochUnseen: true},
		"a refusal by a share counts as one by the quota":      {shareRefusesWhole: true},
		"the counters' clock never falls":                      {clockNeverFalls: true},
		"the remainder of the division goes to nobody":         {floorShares: true},
		"others leave no room for a node that is cut off":      {noRoom: true},
		"a node has a share as soon as it has joined":          {joinsAtOnce: true},
		"what may have been told is told again":                {tellAgain: true},
		"a budget is renewed when the counters are lost again": {renewed: true},
		"a budget that is set stays while the counters admit":  {closedForgotten: true},
		"the counters' admissions do not come out of a budget": {spentForgotten: true},
		"a lease that is made again leases another block":      {leasedAnew: true},
		"a grant that arrives again adds its block again":      {grantedAnew: true},
		"a block is kept over an epoch":                        {blockKept: true},
		"what a node knows of the day is not used":             {knownDayUnused: true},
		"a lost lease has a node refuse all accounts":          {lostLeaseBlinds: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			first := rand.Uint64()
			_, failed := simulate(first, 50_000, change)
			if failed == nil {
				t.Fatalf("50,000 schedules from seed %d do not find it", first)
			}
			n := failed.seed - first
			failed.shrink(change)
			t.Logf("found by schedule %d: %v\n%s", n, newWorld(failed, change).run(), failed)
		})
	}
}
