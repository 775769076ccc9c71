package portal

import (
	"context"
	"fmt"
	"net/http"
	"regexp"
	"testing"
	"time"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/pages"
	"github.com/petcat-api/petcat/internal/pagetest"
	"github.com/petcat-api/petcat/internal/ratelimit"
)

// away are sessions whose database is unavailable.
type away struct{ pages.Sessions }

func (away) FindSession(context.Context, petcat.Realm, petcat.TokenHash) (petcat.Session, error) {
	return petcat.Session{}, petcat.Errorf(petcat.CodeServiceUnavailable, "the database is away")
}

func (away) FindLink(context.Context, petcat.Realm, petcat.TokenHash) (petcat.Subject, error) {
	return petcat.Subject{}, petcat.Errorf(petcat.CodeServiceUnavailable, "the database is away")
}

func (away) SignIn(context.Context, petcat.Realm, petcat.TokenHash, petcat.TokenHash) (petcat.Session, error) {
	return petcat.Session{}, petcat.Errorf(petcat.CodeServiceUnavailable, "the database is away")
}

func TestKeys(t *testing.T) {
	s := start(t)
	a := s.Account("acme")
	b := signIn(s, a)
	p := b.Post("keys", "label", "back <b>", "expires", "2027-12-31", "read_only", "yes").
		Want(http.StatusOK, "New key key_1", "It is shown once")
	secret := p.Secret()
	s.WantAudited("customer acct_1", "key.create", "key_1")
	k := find(s, 1)
	expires := time.Date(2027, 12, 31, 0, 0, 0, 0, time.UTC)
	if k.Label != "back <b>" || !k.ReadOnly || k.Account != a.ID || !k.ExpiresAt.Equal(expires) {
		t.Errorf("the key is %+v", k)
	}
	b.Get("").Want(http.StatusOK, "back <b>", k.Hint).Lacks(secret)
	b.Post("keys", "label", "x", "expires", "soon").
		Want(http.StatusBadRequest, `must look like 2027-01-31 (got "soon").`, `value="x"`)

	b.Post("keys/key_1", "label", "front", "expires", "2027-12-31").WantGoesTo("keys/key_1?done=edited")
	s.WantAudited("customer acct_1", "key.edit", "key_1")
	b.Get("keys/key_1?done=edited").Want(http.StatusOK, "The key was changed.", "front", `value="2027-12-31"`)
	b.Post("keys/key_1", "label", "front", "expires", "2027-01-01").
		Want(http.StatusBadRequest, "at least a minute in the future", `value="2027-01-01"`)

	b.Post("keys/key_1", "label", "front", "networks", "192.0.2.0/24").WantGoesTo("keys/key_1?done=edited")
	b.Get("keys/key_1").Want(http.StatusOK, "<dd>192.0.2.0/24</dd>")
	b.Post("keys/key_1", "label", "front", "networks", "office").Want(http.StatusBadRequest, `data-field="networks"`)

	b.Post("keys/key_1/rotate", "overlap", "0s").
		Want(http.StatusOK, "Rotate the key key_1 without an overlap?", "<dd>front</dd>", "overlap=0s&sure=yes")
	b.Post("keys/key_1/rotate", "overlap", "721h").Want(http.StatusBadRequest, "from 0 to 30 days")
	b.Post("keys/key_1/rotate", "overlap", "24h").Want(http.StatusOK, "New key key_2", "15 Mar 2027, 12:00")
	s.WantAudited("customer acct_1", "key.rotate", "key_1")
	b.Post("keys/key_1/rotate", "overlap", "24h").Want(http.StatusBadRequest, "was rotated already")
	b.Post("keys/key_2/rotate?overlap=0s&sure=yes").Want(http.StatusOK, "New key key_3")

	b.Get("keys/key_3/revoke").Want(http.StatusOK, "Revoke the key key_3?", "<dd>front</dd>", "permanently")
	b.Post("keys/key_3/revoke").WantGoesTo("keys/key_3?done=revoked")
	s.WantAudited("customer acct_1", "key.revoke", "key_3")
	b.Get("keys/key_3?done=revoked").
		Want(http.StatusOK, "The key was revoked.").
		Lacks("Revoke…", "Rotate the key", "Save")
}

// TestLeakedKey: the customer learns that a key was reported as leaked.
func TestLeakedKey(t *testing.T) {
	s := start(t)
	a := s.Account("acme")
	b := signIn(s, a)
	b.Post("keys", "label", "backend").Want(http.StatusOK)
	b.Get("").Want(http.StatusOK).Lacks("reported as leaked")
	_, err := s.Store.ChangeKey(t.Context(), petcat.By(petcat.ServiceActor), 1, petcat.ReportLeakedKey)
	pagetest.Must(t, err)
	b.Get("").Want(http.StatusOK, "was reported as leaked at", "leaked</span>")
	b.Get("keys/key_1").Want(http.StatusOK, "reported it as leaked", "<dt>Reported as leaked</dt>").
		Lacks("The operator of this service has disabled this key")
}

// TestKeysStayDead: a customer cannot revive a key with its form. A form that does not change the
// expiry is valid in each state.
func TestKeysStayDead(t *testing.T) {
	const expiry = `name="expires"`
	s := start(t)
	a := s.Account("acme")
	b := signIn(s, a)
	now := func() time.Time { return s.Clock.Read().Time() }

	b.Post("keys", "label", "short", "expires", "2027-03-15")
	b.Get("keys/key_1").Want(http.StatusOK, expiry, "Empty: never.")
	s.Clock.Advance(24 * time.Hour)
	b.Get("keys/key_1").Want(http.StatusOK, "Save").Lacks(expiry)
	b.Post("keys/key_1", "label", "long", "expires", "2027-12-31").Want(http.StatusBadRequest, "has expired")
	b.Post("keys/key_1", "label", "long", "expires", "").Want(http.StatusBadRequest, "has expired")
	yesterdays := []string{"label", "long", "expires", "2027-03-15"} // form
	b.Post("keys/key_1", yesterdays...).WantGoesTo("keys/key_1?done=edited")
	b.Post("keys/key_1", "label", "longer").WantGoesTo("keys/key_1?done=edited")
	if k := find(s, 1); k.Label != "longer" || k.State(now()) != petcat.KeyExpired {
		t.Errorf("the expired key is %+v", k)
	}

	b.Post("keys", "label", "leaked")
	b.Post("keys/key_2/rotate", "overlap", "168h").Want(http.StatusOK, "New key key_3")
	b.Get("keys/key_2").
		Want(http.StatusOK, expiry, `value="2027-03-22" required max="2027-03-22"`, "can only be shortened")
	b.Post("keys/key_2", "label", "old", "expires", "2027-03-22").WantGoesTo("keys/key_2?done=edited") // unchanged
	if k := find(s, 2); k.Label != "old" || !k.ExpiresAt.Equal(now().Add(168*time.Hour)) {
		t.Errorf("the replaced key is %+v", k)
	}
	for _, later := range []string{"", "2027-03-23"} {
		b.Post("keys/key_2", "label", "old", "expires", later).Want(http.StatusBadRequest, "was replaced by key_3")
	}
	b.Post("keys/key_2", "label", "old", "expires", "2027-03-16").WantGoesTo("keys/key_2?done=edited")
	s.Clock.Advance(24 * time.Hour)
	b.Get("keys/key_2").Want(http.StatusOK, "Save").Lacks(expiry)
	b.Post("keys/key_2", "label", "old", "expires", "").Want(http.StatusBadRequest, "was replaced by key_3")
	if k := find(s, 2); k.State(now()) != petcat.KeyExpired {
		t.Errorf("the key replaced by %s is %+v", k.Successor, k)
	}
}

// TestOnce: a form that is sent twice makes its change once. The second time, the response redirects to
// the result's page.
func TestOnce(t *testing.T) {
	s := start(t)
	a := s.Account("acme")
	s.Key(a.ID)
	b := signIn(s, a)
	// once returns the value of the form with an action.
	once := func(page, action string) string {
		t.Helper()
		const field = `<input type="hidden" name="once" value="(\w{26})">`
		form := regexp.MustCompile(`action="/account/` + action + `">\s*` + field)
		found := form.FindStringSubmatch(b.Get(page).Text)
		if found == nil {
			t.Fatalf("the page %q has no form %s with a field once", page, action)
		}
		return found[1]
	}
	for _, c := range []struct {
		page, action string
		form         []string
		status       int
		result       string
	}{
		{"", "plan", []string{"plan", "pro", "note", "we grow"}, http.StatusSeeOther, ""},
		{"", "keys", []string{"label", "backend"}, http.StatusOK, "keys/key_2"},
		{"keys/key_1", "keys/key_1", []string{"label", "front", "expires", ""}, http.StatusSeeOther, "keys/key_1"},
		{"keys/key_1", "keys/key_1/rotate", []string{"overlap", "24h"}, http.StatusOK, "keys/key_3"},
		{"keys/key_2/revoke", "keys/key_2/revoke", nil, http.StatusSeeOther, "keys/key_2"},
	} {
		form := append(c.form, "once", once(c.page, c.action))
		before := s.LastAudit()
		b.Post(c.action, form...).Want(c.status)
		after := s.LastAudit()
		if after == before {
			t.Errorf("%s changed nothing", c.action)
		}
		b.Post(c.action, form...).WantGoesTo(c.result + "?done=repeated")
		b.Get(c.result+"?done=repeated").Want(http.StatusOK, "This was already done.")
		if again := s.LastAudit(); again != after {
			t.Errorf("%s, sent twice: %+v", c.action, again)
		}
	}
	b.Post("keys", "once", "a b").Want(http.StatusBadRequest, "field once of the form is invalid")
}

// TestOtherAccounts: a customer cannot see or change other accounts.
func TestOtherAccounts(t *testing.T) {
	s := start(t)
	other := s.Key(s.Account("whiskers").ID)
	b := signIn(s, s.Account("acme"))
	for _, path := range []string{"keys/key_1", "keys/key_1/revoke", "keys/key_2", "keys/x"} {
		b.Get(path).Want(http.StatusNotFound).Lacks("made before")
	}
	for _, path := range []string{"keys/key_1", "keys/key_1/rotate?overlap=1h", "keys/key_1/revoke"} {
		b.Post(path, "label", "mine").Want(http.StatusNotFound, "Your account has no key key_1.")
	}
	if now := find(s, other.ID); now != other {
		t.Errorf("the key is %+v", now)
	}
	b.Get("").Want(http.StatusOK, "You have no keys yet.").Lacks("made before", "whiskers")
}

// TestManyKeys: customers can create a limited number of keys, and see all keys in pages.
func TestManyKeys(t *testing.T) {
	s := start(t)
	a := s.Account("acme")
	for range petcat.MaxCustomerKeys - 1 {
		s.Key(a.ID)
	}
	b := signIn(s, a)
	b.Post("keys").Want(http.StatusOK, "New key key_100")
	b.Post("keys").Want(http.StatusBadRequest, "at most 100 keys")
	b.Post("keys/key_1/rotate", "overlap", "1h").Want(http.StatusBadRequest, "at most 100 keys")
	b.Get("").Want(http.StatusOK, "key_100<", "key_51<", "?before=key_51").Lacks("key_50<")
	b.Get("?before=key_51").Want(http.StatusOK, "key_50<", "key_1<", "Newest").Lacks("Older")
}

func TestUsageAndRejections(t *testing.T) {
	s := start(t)
	a, other := s.Account("acme"), s.Account("other")
	k := s.Key(a.ID)
	b := signIn(s, a)
	b.Get("usage").Want(http.StatusOK, "No requests in this period.")
	b.Get("").Want(http.StatusOK, "None in the last 30 days.")
	for range 7 {
		_, err := s.Limiter.Spend(t.Context(), ratelimit.Charge{
			Account: a.ID,
			Key:     k.ID,
			Quota:   a.Quota,
		})
		pagetest.Must(t, err)
	}
	batch := petcat.UsageBatch{
		Node:   "N1",
		Number: 1,
		SeenAt: pagetest.Noon,
		Keys:   []petcat.KeyUse{{Key: k.ID, At: pagetest.Noon.Add(-7 * time.Minute)}},
	}
	for i, at := range []time.Time{pagetest.Noon.Add(-10 * time.Minute), pagetest.Noon.Add(-3 * 24 * time.Hour)} {
		for _, id := range []petcat.AccountID{a.ID, other.ID} {
			batch.Counts = append(batch.Counts, petcat.UsageCount{
				Account:     id,
				Hour:        at.Unix() / 3600,
				UsageCounts: petcat.UsageCounts{Requests: 1000*int64(id) + int64(i)},
				Detail: []petcat.UsageDetail{
					{Key: k.ID, Operation: petcat.OpListCategories, Requests: 1000*int64(id) + int64(i)},
				},
			})
		}
	}
	for i, code := range []petcat.Code{
		petcat.CodeRateLimitExceeded,
		petcat.CodeDailyQuotaExceeded,
		petcat.CodeKeyBanned,
		petcat.CodeInternalError,
		petcat.CodeAddressNotAllowed,
		petcat.CodeRevokedAPIKey,
	} {
		batch.Rejections = append(batch.Rejections, petcat.Rejection{
			Account:   a.ID,
			Key:       k.ID,
			Code:      code,
			Count:     3,
			First:     pagetest.Noon.Add(-time.Hour),
			Last:      pagetest.Noon,
			RequestID: fmt.Sprint("R", i),
			Status:    429,
			Minute:    petcat.QuotaUsage{Used: 60, Limit: 60},
		})
	}
	pagetest.Must(t, s.Store.AddUsage(t.Context(), batch))
	pagetest.Must(t, s.Store.SaveBan(t.Context(), petcat.Ban{
		Key:          k.ID,
		Account:      a.ID,
		Level:        1,
		StartedAt:    pagetest.Noon,
		EndsAt:       pagetest.Noon.Add(time.Minute),
		EarlyRetries: 101,
	}))

	b.Get("").Want(http.StatusOK,
		"7 of 60", "14 Mar 2027, 12:01:00", "7 of 1,000",
		"14 Mar 2027, 11:53", "is banned until", "101 requests",
		"The minute quota was used up: 60 of 60. Wait for the time in Retry-After",
		"request another plan",
		"Make your program wait for Retry-After.",
		"report its X-Request-Id", "R3",
		"Use the key in its networks, or change them.",
		"Use another key.",
	)
	b.Get("keys/key_1").Want(http.StatusOK, "This key is banned until", "14 Mar 2027, 12:01")
	b.Get("usage").Want(http.StatusOK, "<strong>1,000</strong>", "14 Mar 2027, 11:00").Lacks("11 Mar 2027, 00:00")
	b.Get("usage?by=day").Want(http.StatusOK, "<strong>2,001</strong>", "11 Mar 2027, 00:00",
		`<a href="/account/keys/key_1">key_1</a> made before`, "listCategories", `<td class="right">2,001</td>`)
	b.Get("usage.json?by=hour").Want(http.StatusOK, `"periods":[[`, ",1000,").Lacks(",2000,")
	s.Clock.Advance(time.Minute)
	b.Get("").Want(http.StatusOK).Lacks("is banned until")
	b.Get("usage").Want(http.StatusOK).Lacks("may be missing")

	s.Clock.Advance(2 * time.Hour)
	pagetest.Must(t, s.Store.Clean(t.Context())) // finds that N1 was killed
	b.Get("usage").Want(http.StatusOK, "Requests after 14 Mar 2027, 12:00:18 may be missing")
}

func TestPlanRequests(t *testing.T) {
	s := start(t)
	a := s.Account("acme")
	b := signIn(s, a)
	b.Post("plan", "plan", "gold").Want(http.StatusBadRequest, "There is no plan")
	for range 2 { // the second one has no effect
		b.Post("plan", "plan", "pro", "note", "we grow\n<b>").WantGoesTo("?done=asked")
	}
	s.WantAudited("customer acct_1", "plan_request.create", "acct_1")
	b.Get("?done=asked").
		Want(http.StatusOK, "Your request was sent.", "You asked for the Pro plan", "we grow\n<b>").
		Lacks("Request this plan")
	b.Post("plan", "plan", "business").Want(http.StatusBadRequest, "is already pending")
	_, err := s.Store.DeclinePlanRequest(t.Context(), petcat.By(pagetest.CLI), 1)
	pagetest.Must(t, err)
	b.Get("").
		Want(http.StatusOK, "Your request for the Pro plan was declined on", "Request this plan").
		Lacks(string(pagetest.CLI))
	b.Post("plan", "plan", "pro").WantGoesTo("?done=asked")
	_, err = s.Store.ApprovePlanRequest(t.Context(), petcat.By(pagetest.CLI), petcat.PlanApproval{Request: 2})
	pagetest.Must(t, err)
	b.Get("").Want(http.StatusOK, "<h2>Pro plan</h2>", "was approved on")
}
