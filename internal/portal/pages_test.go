package portal

import (
	"context"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"petcat"
	"petcat/internal/ratelimit"
)

// away is a store whose database is away.
type away struct{ Store }

func (away) FindCustomer(context.Context, petcat.TokenHash) (petcat.CustomerSession, error) {
	return petcat.CustomerSession{}, petcat.Errorf(petcat.CodeServiceUnavailable, "the database is away")
}

func (away) SignInCustomer(context.Context, petcat.TokenHash, petcat.TokenHash) (petcat.CustomerSession, error) {
	return petcat.CustomerSession{}, petcat.Errorf(petcat.CodeServiceUnavailable, "the database is away")
}

// secret returns the key that a page shows.
func (p *page) secret() string {
	p.t.Helper()
	found := regexp.MustCompile(`<code id="secret">(pck_live_\w+)</code>`).FindStringSubmatch(p.text)
	if found == nil {
		p.t.Fatalf("there is no key in\n%s", p.text)
	}
	return found[1]
}

func TestKeys(t *testing.T) {
	s := start(t)
	a := s.account("acme")
	b := s.signIn(a.ID)
	p := b.post("keys", "label", "back <b>", "expires", "2027-12-31", "read_only", "yes").want(http.StatusOK, "The new key key_1", "It is shown once")
	secret := p.secret()
	s.wantAudited("customer acct_1", "key.create", "key_1")
	k := s.find(1)
	if k.Label != "back <b>" || !k.ReadOnly || k.Account != a.ID || !k.ExpiresAt.Equal(time.Date(2027, 12, 31, 0, 0, 0, 0, time.UTC)) || !strings.Contains(secret, k.Hint) {
		t.Errorf("the key is %+v", k)
	}
	b.get("").want(http.StatusOK, "back <b>", k.Hint).lacks(secret)
	b.post("keys", "label", "x", "expires", "soon").want(http.StatusBadRequest, `must look like 2027-01-31 (got "soon").`, `value="x"`)

	once := regexp.MustCompile(`name="once" value="(\w+)"`).FindStringSubmatch(b.get("").text)[1]
	b.post("keys", "once", once).want(http.StatusOK, "The new key key_2")
	b.post("keys", "once", once).want(http.StatusBadRequest, "created key_2, whose secret was shown then") // sent twice
	b.post("keys", "once", once, "label", "x").want(http.StatusUnprocessableEntity)

	b.post("keys/key_1", "label", "front", "expires", "2027-12-31").wantGoesTo("keys/key_1?done=edited")
	s.wantAudited("customer acct_1", "key.edit", "key_1")
	b.get("keys/key_1?done=edited").want(http.StatusOK, "The key was changed.", "front", `value="2027-12-31"`)
	b.post("keys/key_1", "label", "front", "expires", "2027-01-01").want(http.StatusBadRequest, "must be in the future", `value="2027-01-01"`)

	b.post("keys/key_1/rotate", "overlap", "0s").want(http.StatusOK, "Rotate the key key_1 (front) now?", "overlap=0s&sure=yes")
	b.post("keys/key_1/rotate", "overlap", "721h").want(http.StatusBadRequest, "from 0 to 30 days")
	b.post("keys/key_1/rotate", "overlap", "24h").want(http.StatusOK, "The new key key_3", "15 Mar 2027, 12:00").secret()
	s.wantAudited("customer acct_1", "key.rotate", "key_1")
	b.post("keys/key_1/rotate", "overlap", "24h").want(http.StatusBadRequest, "was rotated already") // sent twice
	b.post("keys/key_3/rotate?overlap=0s&sure=yes").want(http.StatusOK, "The new key key_4")

	b.get("keys/key_4/revoke").want(http.StatusOK, "Revoke the key key_4 (front) now?", "for good")
	b.post("keys/key_4/revoke").wantGoesTo("keys/key_4?done=revoked")
	s.wantAudited("customer acct_1", "key.revoke", "key_4")
	b.get("keys/key_4?done=revoked").want(http.StatusOK, "The key was revoked.").lacks("Revoke…", "Rotate the key", "Save")
}

// TestOtherAccounts: whatever a customer may ask for, keys of other accounts are not there, and
// nothing of them is shown.
func TestOtherAccounts(t *testing.T) {
	s := start(t)
	other := s.key(s.account("whiskers").ID)
	b := s.signIn(s.account("acme").ID)
	for _, path := range []string{"keys/key_1", "keys/key_1/revoke", "keys/key_2", "keys/x"} {
		b.get(path).want(http.StatusNotFound).lacks("made before")
	}
	for _, path := range []string{"keys/key_1", "keys/key_1/rotate?overlap=1h", "keys/key_1/revoke"} {
		b.post(path, "label", "mine").want(http.StatusNotFound, "Your account has no key key_1.")
	}
	if now := s.find(other.ID); now != other {
		t.Errorf("the key is %+v", now)
	}
	b.get("").want(http.StatusOK, "You have no keys yet.").lacks("made before", "whiskers")
}

// TestManyKeys: of those that customers make, there is a bound; of the others, there are pages.
func TestManyKeys(t *testing.T) {
	s := start(t)
	a := s.account("acme")
	for range petcat.MaxCustomerKeys - 1 {
		s.key(a.ID)
	}
	b := s.signIn(a.ID)
	b.post("keys").want(http.StatusOK, "The new key key_100")
	b.post("keys").want(http.StatusBadRequest, "at most 100 keys")
	b.post("keys/key_1/rotate", "overlap", "1h").want(http.StatusBadRequest, "at most 100 keys")
	b.get("").want(http.StatusOK, "key_100<", "key_51<", "?before=key_51").lacks("key_50<")
	b.get("?before=key_51").want(http.StatusOK, "key_50<", "key_1<", "Newest").lacks("Older")
}

func TestUsageAndRefusals(t *testing.T) {
	s := start(t)
	a, other := s.account("acme"), s.account("other")
	k := s.key(a.ID)
	b := s.signIn(a.ID)
	b.get("usage").want(http.StatusOK, "No requests are recorded in this time.")
	b.get("").want(http.StatusOK, "None in the last 30 days.")
	for range 7 {
		_, err := s.limiter.Spend(t.Context(), ratelimit.Charge{Account: a.ID, Key: k.ID, Quota: a.Quota})
		must(t, err)
	}
	batch := petcat.UsageBatch{Node: "N1", Number: 1, SeenAt: noon, Keys: []petcat.KeyUse{{Key: k.ID, At: noon.Add(-7 * time.Minute)}}}
	for i, at := range []time.Time{noon.Add(-10 * time.Minute), noon.Add(-3 * 24 * time.Hour)} {
		for _, id := range []petcat.AccountID{a.ID, other.ID} {
			batch.Counts = append(batch.Counts, petcat.UsageCount{
				Account: id, Hour: at.Unix() / 3600, UsageCounts: petcat.UsageCounts{Requests: 1000*int64(id) + int64(i), MinuteRefused: 7},
			})
		}
	}
	for i, code := range []petcat.Code{petcat.CodeRateLimitExceeded, petcat.CodeDailyQuotaExceeded, petcat.CodeKeyBanned, petcat.CodeInternalError} {
		batch.Refusals = append(batch.Refusals, petcat.Refusal{
			Account: a.ID, Key: k.ID, Operation: petcat.OpListCategories, Code: code, Count: 3, First: noon.Add(-time.Hour), Last: noon,
			RequestID: fmt.Sprint("R", i), Status: 429, Minute: petcat.Spent{Used: 60, Limit: 60},
		})
	}
	must(t, s.store.AddUsage(t.Context(), batch))
	must(t, s.store.SaveBan(t.Context(), petcat.Ban{Key: k.ID, Account: a.ID, Level: 1, StartedAt: noon, EndsAt: noon.Add(time.Minute), EarlyRetries: 101}))

	b.get("").want(http.StatusOK, "7 of 60", "14 Mar 2027, 12:01:00", "7 of 1,000", "14 Mar 2027, 11:53", "is banned until", "101 requests",
		"The quota of the minute was used up: 60 of 60. Wait until the minute is over", "ask for another plan", "Retry-After has passed", "tell us its X-Request-Id", "R3")
	b.get("keys/key_1").want(http.StatusOK, "This key is banned until", "14 Mar 2027, 12:01")
	b.get("usage").want(http.StatusOK, "<strong>1,000</strong>", "14 Mar 2027, 11:00").lacks("11 Mar 2027, 00:00")
	b.get("usage?by=day").want(http.StatusOK, "<strong>2,001</strong>", "11 Mar 2027, 00:00")
	b.get("usage.json?by=hour").want(http.StatusOK, `{"usage":[[`, ",1000,").lacks(",2000,")
	s.clock.Advance(time.Minute)
	b.get("").want(http.StatusOK).lacks("is banned until")
}

func TestAnotherPlan(t *testing.T) {
	s := start(t)
	a := s.account("acme")
	b := s.signIn(a.ID)
	b.post("plan", "plan", "gold").want(http.StatusBadRequest, "There is no plan")
	for range 2 { // sent twice, it is one
		b.post("plan", "plan", "pro", "note", "we grow\n<b>").wantGoesTo("?done=asked")
	}
	s.wantAudited("customer acct_1", "plan_request.create", "acct_1")
	b.get("?done=asked").want(http.StatusOK, "Your request was sent.", "You asked for the Pro plan", "we grow\n<b>").lacks("Ask for this plan")
	b.post("plan", "plan", "business").want(http.StatusBadRequest, "is waiting for an answer already")
	_, err := s.store.DeclinePlanRequest(t.Context(), cli, 1)
	must(t, err)
	b.get("").want(http.StatusOK, "Your request for the Pro plan was declined on", "Ask for this plan").lacks("cli:test")
	b.post("plan", "plan", "pro").wantGoesTo("?done=asked")
	_, err = s.store.ApprovePlanRequest(t.Context(), cli, 2, 0, 0)
	must(t, err)
	b.get("").want(http.StatusOK, "<h2>Pro plan</h2>", "was approved on")
}
