package e2e

import (
	"encoding/json"
	"strings"
	"time"

	"petcat"
)

// standbyBans are two keys: one is banned while the standby is away, and the ban of the
// other one, from before, is lifted.
type standbyBans struct {
	imposed, lifted struct{ id, key string }
	unsure          int // lifts that may have happened
}

// impose lets the first key be banned.
func (b *standbyBans) impose(x *standbyTest, end time.Time) {
	if !within(time.Until(end), x.nodes[0].answers(b.imposed.key, petcat.CodeKeyBanned)) {
		x.t.Error("a key is not banned, though its client does not wait")
	}
}

// lift asks again and again that the other one's ban be lifted, until the time is up.
func (b *standbyBans) lift(x *standbyTest, end time.Time) {
	for ; time.Now().Before(end); lapse(time.Second) {
		code, stdout, stderr := petcatRuns(x.t, "ban", "lift", b.lifted.id, "--database", x.database)
		switch {
		case code == exitTryLater && strings.Contains(stderr, "may have been lifted"):
			b.unsure++
		case code == exitFailed && strings.Contains(stderr, "is not banned now"): // it was lifted, or has ended
		case code == exitTryLater && strings.Contains(stderr, "cannot be reached at the moment"): // others hold the lock: nothing has happened
		default:
			x.t.Errorf("petcat ban lift ends with %d: %s%s", code, stdout, stderr)
		}
	}
}

// verify: the ban is saved once, though it was saved again until that was known; the lift was
// carried out at most once, and is known to all nodes if it was.
func (b *standbyBans) verify(x *standbyTest) {
	x.t.Helper()
	of := func(id string) (found []ban) {
		for _, ban := range x.nodes[0].bans("--all") {
			if ban.Key == id {
				found = append(found, ban)
			}
		}
		return found
	}
	eventually(x.t, 10*time.Second, "the ban that was imposed meanwhile is saved", func() bool { return len(of(b.imposed.id)) > 0 })
	recorded := func(action, id string) (times int) {
		var entries []struct{ Action, Subject string }
		must(x.t, json.Unmarshal([]byte(petcatDoes(x.t, x.database, "audit", "list", "--json")), &entries))
		for _, e := range entries {
			if e.Action == action && e.Subject == id {
				times++
			}
		}
		return times
	}
	for _, id := range []string{b.imposed.id, b.lifted.id} {
		if n := recorded("ban.impose", id); n != 1 || of(id)[0].Level != 1 {
			x.t.Errorf("a ban is recorded %d times, and listed as %+v; want one, of level 1", n, of(id))
		}
	}
	lifts, state := recorded("ban.lift", b.lifted.id), of(b.lifted.id)[0].State
	x.t.Logf("%d commands said that the ban may have been lifted; %d lifts are recorded, and it is %s", b.unsure, lifts, state)
	if lifts > min(1, b.unsure) || (lifts == 1) != (state == "lifted") {
		x.t.Error("a lift was carried out twice, or was called failed, or is not what is listed")
	}
	if state != "lifted" {
		return
	}
	for _, s := range x.nodes {
		eventually(x.t, heardWithin, "a node knows that the ban is lifted", func() bool { return s.list(b.lifted.key).code() != petcat.CodeKeyBanned })
	}
}
