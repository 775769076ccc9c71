package e2e

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptrace"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"petcat"
	"petcat/internal/apicheck"
)

// habit is how much an account asks for.
type habit uint8

const (
	modest  habit = iota // less than its quota, always
	spends               // all of its minute, and then tries again every few seconds, too seldom to be banned
	hammers              // without a look at the answers
)

// spreading is how an account's requests are spread over the nodes.
type spreading uint8

const (
	onOne    spreading = iota
	moving             // from one node to the next when it is refused, and now and then
	mostly             // on one, and one in a hundred elsewhere
	inTurn             // on all alike
	anywhere           // as it falls
	spreadings
)

// outcome is what became of a request.
type outcome uint8

const (
	admitted   outcome = iota
	refused            // by the whole quota of the minute
	byShare            // by a node's share of it
	daySpent           // by the quota of the day
	banned             //
	unanswered         // it may have been charged
	listless           // admitted, and then 503, because the list was too old
	failed             // 503 before it was charged, or never sent
	outcomes
)

// charges reports whether the request was charged to its account, for certain.
func (o outcome) charges() bool { return o == admitted || o == listless }

func (o outcome) String() string {
	return [...]string{"admitted", "refused", "refused by share", "day spent", "banned", "unanswered", "admitted without a list", "503 or not sent"}[o]
}

// event is a request.
type event struct {
	sent, received int64 // Unix nanoseconds; all servers are on this machine
	node           int32
	outcome        outcome
}

// tortureAccount is an account, and the client that uses its key.
type tortureAccount struct {
	name      string
	id, key   string // of its key
	quota     petcat.Quota
	habit     habit
	spreading spreading

	mu     sync.Mutex
	random *rand.Rand                 // guarded by mu
	node   *tortureNode               // where it is at home; guarded by mu
	turn   int                        // guarded by mu
	known  map[*tortureNode]time.Time // when each node last admitted it; guarded by mu
	events []event                    // guarded by mu

	carry int64 // admitted at the end of the minute before the next to be checked, and counted in that; of check alone
}

// accountSort is accounts that are alike.
type accountSort struct {
	name   string
	count  int
	habit  habit
	minute []int64 // quotas of the minute that occur
	day    []int64
	plan   petcat.Plan // "" is Enterprise
}

const dayWithoutEnd = 10_000_000

// accountSorts are 500 accounts, which ask some 250 times a second together.
var accountSorts = []accountSort{
	{name: "tiny", count: 40, habit: spends, minute: []int64{1, 2, 3, 4, 5}, day: []int64{dayWithoutEnd}},
	{name: "small", count: 160, habit: spends, minute: []int64{10, 15, 20, 30}, day: []int64{dayWithoutEnd}},
	{name: "free", count: 30, habit: spends, plan: petcat.Free},
	{name: "pro", count: 5, habit: spends, plan: petcat.Pro},
	{name: "business", count: 2, habit: modest, plan: petcat.Business},
	{name: "daily", count: 40, habit: spends, minute: []int64{20}, day: []int64{25, 50, 100, 400}},
	{name: "below", count: 215, habit: modest, minute: []int64{5, 10, 20, 40, 60}, day: []int64{dayWithoutEnd}},
	{name: "hammer", count: 8, habit: hammers, minute: []int64{10}, day: []int64{dayWithoutEnd}},
}

// makeAccounts makes all accounts with their keys.
func (x *clusterTorture) makeAccounts() {
	for i, s := range accountSorts {
		r := x.random(s.name, i)
		for number := range s.count {
			a := &tortureAccount{
				name: fmt.Sprint(s.name, number), habit: s.habit, spreading: spreading(r.IntN(int(spreadings))),
				random: x.random(s.name, 1000+number), known: make(map[*tortureNode]time.Time),
			}
			plan := []string{string(s.plan)}
			if quota, published := s.plan.Quota(); published {
				a.quota = quota
			} else {
				a.quota = petcat.Quota{PerMinute: s.minute[r.IntN(len(s.minute))], PerDay: s.day[r.IntN(len(s.day))]}
				plan = []string{"enterprise", "--per-minute", fmt.Sprint(a.quota.PerMinute), "--per-day", fmt.Sprint(a.quota.PerDay)}
			}
			petcatDoes(x.t, x.database, append([]string{"account", "create", a.name, "--plan"}, plan...)...)
			a.id, a.key = issueKey(x.t, x.database, a.name)
			x.accounts = append(x.accounts, a)
		}
	}
}

// use lets an account's client ask until the test ends.
func (x *clusterTorture) use(a *tortureAccount) {
	for minute := x.begin; minute.Before(x.end); minute = minute.Add(time.Minute) {
		switch a.habit {
		case modest:
			x.staysBelow(a, minute)
		case spends:
			x.spendsAll(a, minute)
		case hammers:
			x.hammers(a, minute)
		}
		lapse(time.Until(minute.Add(time.Minute)))
	}
}

// staysBelow asks for at most four in five of the minute's quota, at any time of it.
func (x *clusterTorture) staysBelow(a *tortureAccount, minute time.Time) {
	var at []time.Duration
	for range 1 + a.number(a.quota.PerMinute*8/10) {
		at = append(at, time.Duration(a.number(int64(59*time.Second))))
	}
	slices.Sort(at)
	for _, after := range at {
		lapse(time.Until(minute.Add(after)))
		if time.Now().Before(minute.Add(time.Minute)) { // the machine may have stalled
			x.ask(a)
		}
	}
}

// spendsAll asks for the minute's quota within some seconds, sometimes with several
// requests at once, and tries again every few seconds.
func (x *clusterTorture) spendsAll(a *tortureAccount, minute time.Time) {
	const several = 6
	if a.number(3) > 0 {
		lapse(time.Until(minute.Add(time.Duration(a.number(int64(30 * time.Second))))))
	}
	if a.number(3) == 0 {
		var clients sync.WaitGroup
		for range several {
			clients.Go(func() {
				for range min(a.quota.PerMinute, 30)/several + 1 {
					if x.ask(a) != admitted {
						return
					}
				}
			})
		}
		clients.Wait()
	}
	pace := min(2*time.Second, 15*time.Second/time.Duration(a.quota.PerMinute))
	for end := minute.Add(time.Minute); ; {
		wait := pace
		switch x.ask(a) {
		case admitted:
		case unanswered, listless, failed:
			wait = 500 * time.Millisecond
		default:
			wait = 4*time.Second + time.Duration(a.number(int64(time.Second)))
		}
		if time.Until(end) < wait {
			return
		}
		lapse(wait)
	}
}

func (x *clusterTorture) hammers(a *tortureAccount, minute time.Time) {
	for end := minute.Add(time.Minute); time.Now().Before(end); lapse(400 * time.Millisecond) {
		x.ask(a)
	}
}

// number returns a random number below n.
func (a *tortureAccount) number(n int64) int64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.random.Int64N(max(1, n))
}

// choose returns the node that gets the next request.
func (a *tortureAccount) choose(routes []*tortureNode) *tortureNode {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.turn++
	some := routes[a.random.IntN(len(routes))]
	switch {
	case a.spreading == inTurn:
		return routes[a.turn%len(routes)]
	case a.spreading == anywhere || a.spreading == mostly && a.turn%100 == 0:
		return some
	case !slices.Contains(routes, a.node), a.spreading == moving && a.turn%50 == 0:
		a.node = some
	}
	return a.node
}

// ask sends a request and writes down what becomes of it.
func (x *clusterTorture) ask(a *tortureAccount) outcome {
	n := a.choose(x.routes())
	var wrote atomic.Bool
	trace := &httptrace.ClientTrace{WroteRequest: func(httptrace.WroteRequestInfo) { wrote.Store(true) }}
	sent := time.Now()
	got, err := x.asker.try(http.MethodGet, n.api+"/v1/categories", nil, withKey(a.key), func(r *http.Request) {
		*r = *r.WithContext(httptrace.WithClientTrace(r.Context(), trace))
	})
	received := time.Now()
	e := event{sent: sent.UnixNano(), received: received.UnixNano(), node: int32(n.number)}
	switch {
	case err == nil:
		e.outcome = x.outcome(a, n, got, sent, received)
	case !x.incidents.silent(n, sent, received):
		x.verdicts.wrong("%s %s does not answer %s, though it was neither killed nor frozen: %v", clockTime(sent), n, a.name, err)
		fallthrough
	default:
		e.outcome = failed
		if wrote.Load() {
			e.outcome = unanswered
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.events = append(a.events, e)
	switch {
	case e.outcome == admitted:
		a.known[n] = received
	case a.spreading == moving:
		a.node = nil
	}
	return e.outcome
}

// answerTimeout is how long a client waits. PostgreSQL that hangs keeps the first list
// waiting for 4 s.
const answerTimeout = 10 * time.Second

// outcome says what an answer means, and looks at whatever every answer must be.
func (x *clusterTorture) outcome(a *tortureAccount, n *tortureNode, got *answer, sent, received time.Time) outcome {
	for _, problem := range apicheck.Problems(got.Response, got.body, sent.Unix(), received.Unix()) {
		x.verdicts.wrong("%s %s answers %s with %d: %s", clockTime(sent), n, a.name, got.StatusCode, problem)
	}
	switch code := got.code(); {
	case got.StatusCode == http.StatusOK:
		return admitted
	case got.beyondShare():
		return byShare
	case code == petcat.CodeRateLimitExceeded:
		return refused
	case code == petcat.CodeDailyQuotaExceeded:
		return daySpent
	case code == petcat.CodeKeyBanned && a.habit == hammers:
		return banned
	case code == petcat.CodeServiceUnavailable && x.incidents.unavailable(n, a.knownTo(n, sent), sent, received):
		if strings.Contains(got.Header.Get("RateLimit"), `"day"`) { // only what was charged tells it
			return listless
		}
		return failed
	}
	x.verdicts.wrong("%s %s answers %s (%s) with %d %.300s%s%s\n%s", clockTime(sent), n, a.name, a.id, got.StatusCode, got.body,
		x.incidents.tell(sent.Add(-5*time.Minute), received), a.tell(n, sent.Add(-5*time.Minute), received), last(n.log.events(), 2000))
	return failed
}

// knownTo reports whether a node has lately admitted the account: it forgets those whom it
// has not seen for ten minutes, and the day when another begins.
func (a *tortureAccount) knownTo(n *tortureNode, now time.Time) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	last, known := a.known[n]
	return known && now.Sub(last) < 9*time.Minute && petcat.Day.Index(last.Unix()) == petcat.Day.Index(now.Unix())
}
