package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// standbyAway is how long the synchronous standby is away.
const standbyAway = time.Minute

// TestStandbyAway: while PostgreSQL does all that it is asked and cannot say so,
// because its synchronous standby is away, nothing is done twice, nothing that may
// have happened is called failed, no ban is lost, and no day is cut short or passed.
func TestStandbyAway(t *testing.T) {
	awaitRoomInDay(t, 2*standbyAway)
	redis := newClusterApart(t)
	redis.start(2)
	memory := &cluster{t: t, postgres: redis.postgres, redis: redis.redis, database: redis.postgres.Database(t)}
	memory.startOne("--limiter", "memory")
	away := []*standbyTest{newStandbyTest(redis), newStandbyTest(memory)}
	over := make(chan struct{})
	go func() {
		defer close(over)
		loseStandby(t, away)
	}()
	// The minute passes while those tests run that run one after the other.
	t.Parallel()
	<-over
	if t.Failed() {
		return
	}
	// In memory nothing is lost; what Redis holds of a day may be, a hundredth.
	if got := away[1].spent; got != standbyQuota {
		t.Errorf("a node with its own counts admitted %d of %d", got, standbyQuota)
	}
	if got := away[0].spent; got > standbyQuota || got < standbyQuota*99/100 {
		t.Errorf("nodes with Redis admitted %d of %d", got, standbyQuota)
	}
	redis.mustStop()
	memory.mustStop()
}

// loseStandby has PostgreSQL wait for a standby that does not exist, and then looks
// what came of it.
func loseStandby(t *testing.T, away []*standbyTest) {
	t.Helper()
	set := func(statement string) {
		t.Helper()
		away[0].postgres.Execute(t, "postgres", statement)
		away[0].postgres.Execute(t, "postgres", "SELECT pg_reload_conf()")
	}
	set("ALTER SYSTEM SET synchronous_standby_names = 'nobody'")
	end := time.Now().Add(standbyAway)
	var all sync.WaitGroup
	for _, x := range away {
		all.Go(func() { x.spendUntil(end) })
		all.Go(func() { x.createUntil(end) })
		all.Go(func() { x.manageUntil(end) })
		all.Go(func() { x.banned.impose(x, end) })
		all.Go(func() { x.banned.lift(x, end) })
	}
	all.Wait()
	set("ALTER SYSTEM RESET synchronous_standby_names")
	for _, x := range away {
		x.awaitWell(20 * time.Second)
		x.verify()
	}
}

// standbyQuota is a day's, with blocks of five.
const standbyQuota = 1_000

// standbyTest is what happens on one cluster meanwhile.
type standbyTest struct {
	*cluster
	caller, counted string // keys
	spent           int
	sent            int      // creates
	accounts        []string // names that were asked for
	banned          standbyBans
}

func newStandbyTest(c *cluster) *standbyTest {
	c.t.Helper()
	x := &standbyTest{cluster: c}
	x.caller = c.newCaller()
	x.counted = c.newKey("counted", "enterprise", "--per-minute", "1000000", "--per-day", fmt.Sprint(standbyQuota))
	c.remember(x.caller)
	x.spend(100)
	x.banned.lifted.id, x.banned.lifted.key = x.nodes[0].bannedKey("lifted")
	x.banned.imposed.id, x.banned.imposed.key = x.nodes[0].spentKey("imposed")
	return x
}

// spend sends requests that count, on all nodes in turn, and returns how many the
// day refused. What a node cannot judge now does not count.
func (x *standbyTest) spend(requests int) (refused int) {
	for i := range requests {
		a, err := x.nodes[i%len(x.nodes)].try(http.MethodGet, x.nodes[i%len(x.nodes)].api+"/v1/nothing", nil, withKey(x.counted))
		switch {
		case err != nil:
			x.t.Error(err)
		case a.StatusCode == http.StatusNotFound:
			x.spent++
		case a.StatusCode == http.StatusTooManyRequests:
			refused++
		}
	}
	return refused
}

func (x *standbyTest) spendUntil(end time.Time) {
	for time.Now().Before(end) {
		if refused := x.spend(10); refused > 0 {
			x.t.Errorf("%d requests are refused after %d of the day's %d", refused, x.spent, standbyQuota)
			return
		}
		lapse(time.Second)
	}
}

func (x *standbyTest) create(number int) (acknowledged bool) {
	s := x.nodes[number%len(x.nodes)]
	name := fmt.Sprintf("away %d", number)
	a, err := s.try(http.MethodPost, s.api+"/v1/categories", strings.NewReader(categoryBody(name)), withKey(x.caller), withHeader("Idempotency-Key", fmt.Sprintf("key-%d", number)))
	return err == nil && a.StatusCode == http.StatusCreated
}

// createUntil creates categories, each until it is acknowledged or the time is up.
func (x *standbyTest) createUntil(end time.Time) {
	for time.Now().Before(end) {
		x.create(x.sent % 10)
		x.sent++
		lapse(200 * time.Millisecond)
	}
}

// manageUntil makes accounts and keys, by the command line, each twice.
func (x *standbyTest) manageUntil(end time.Time) {
	unsure := 0
	for i := 0; time.Now().Before(end); i++ {
		name := fmt.Sprintf("maybe-%d", i/2)
		if i%2 == 0 {
			x.accounts = append(x.accounts, name)
		}
		for _, command := range [][]string{{"account", "create", name, "--plan", "free"}, {"key", "create", name}} {
			code, stdout, stderr := petcatRuns(x.t, append(command, "--database", x.database)...)
			switch {
			case code == exitFailed && strings.Contains(stderr, "may have been created") && strings.Contains(stderr, "check with: petcat "+command[0]+" list"):
				unsure++
			case code == exitDone:
				x.t.Errorf("petcat %s ends with %d: %s%s", strings.Join(command, " "), code, stdout, stderr)
			}
		}
		lapse(3 * time.Second)
	}
	if unsure < 5 {
		x.t.Errorf("%d commands say that something may have been created; that was no test", unsure)
	}
}

// verify looks what came of it, when all is well again.
func (x *standbyTest) verify() {
	x.t.Helper()
	for number := range 10 {
		eventually(x.t, 20*time.Second, "a create is acknowledged", func() bool { return x.create(number) })
	}
	times := make(map[string]int)
	for _, c := range x.nodes[0].categories(x.caller) {
		times[c.Name]++
	}
	for number := range 10 {
		if name := fmt.Sprintf("away %d", number); times[name] != 1 {
			x.t.Errorf("%q is there %d times", name, times[name])
		}
	}
	var accounts []struct{ ID, Name string }
	must(x.t, json.Unmarshal([]byte(petcatDoes(x.t, x.database, "account", "list", "--json")), &accounts))
	for _, name := range x.accounts {
		count := 0
		for _, a := range accounts {
			if a.Name == name {
				count++
			}
		}
		if count > 1 {
			x.t.Errorf("the account %s is there %d times", name, count)
		}
	}
	if !slices.ContainsFunc(accounts, func(a struct{ ID, Name string }) bool { return strings.HasPrefix(a.Name, "maybe-") }) {
		x.t.Error("no account was made meanwhile, though it was said that it may have been")
	}
	x.banned.verify(x)
	for x.spend(20) == 0 {
	}
	// What a node leased and did not spend it gives back within a few seconds.
	lapse(2 * time.Second)
	x.spend(20)
}
