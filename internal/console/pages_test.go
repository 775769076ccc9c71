package console

import (
	"crypto/rand"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"petcat"
)

func TestAccounts(t *testing.T) {
	s := start(t)
	b := s.admin()
	b.get("accounts").want(http.StatusOK, "There are no accounts yet.")
	b.post("accounts", "name", "acme <b>", "plan", "enterprise", "per_minute", "5,000", "per_day", "2000000").wantGoesTo("accounts/acct_1?done=account")
	s.wantAudited("operator ada", "account.create", "acct_1")
	b.get("accounts/acct_1?done=account").want(http.StatusOK, "acme <b>", "Enterprise", "2,000,000", "The account was created.")

	b.post("accounts", "name", " ", "plan", "free").want(http.StatusBadRequest, `data-field="name">The account's name must not be empty.`)
	b.post("accounts", "name", "acme <b>", "plan", "free").want(http.StatusBadRequest, "already", `value="acme <b>"`)
	b.post("accounts", "name", "x", "plan", "enterprise", "per_minute", "many", "per_day", "1").want(http.StatusBadRequest, `data-field="per_minute">The quota per minute must be a number`)

	b.post("accounts/acct_1/plan", "plan", "pro").wantGoesTo("accounts/acct_1?done=plan")
	s.wantAudited("operator ada", "account.set_plan", "acct_1")
	b.post("accounts/acct_1/plan", "plan", "enterprise", "per_minute", "lots", "per_day", "70").want(http.StatusBadRequest, `value="enterprise" selected`, `value="lots"`, `value="70"`)
	b.get("accounts/acct_1").want(http.StatusOK, "10,000")
	for _, path := range []string{"accounts/acct_2", "accounts/x", "accounts/acct_1/x"} {
		b.get(path).want(http.StatusNotFound)
	}

	b.get("accounts/acct_1/close").want(http.StatusOK, "Close the account acme <b> (acct_1)?", "cannot be undone")
	b.post("accounts/acct_1/close", "typed", "acme").want(http.StatusBadRequest, "What you typed is not the account's name")
	b.post("accounts/acct_1/close", "typed", "acme <b>").wantGoesTo("accounts/acct_1?done=closed")
	s.wantAudited("operator ada", "account.close", "acct_1")
	b.get("accounts/acct_1").want(http.StatusOK, "closed").lacks("New key", "Change the plan")
}

// secretOf returns the key that a page shows.
func secretOf(t *testing.T, p *page) string {
	t.Helper()
	found := regexp.MustCompile(`<code id="secret">(pck_live_\w+)</code>`).FindStringSubmatch(p.text)
	if found == nil {
		t.Fatalf("there is no key in\n%s", p.text)
	}
	return found[1]
}

// wantKey checks the state of a key's holder.
func (s *service) wantKey(secret string, want petcat.KeyState) petcat.Key {
	s.t.Helper()
	hash, err := petcat.ParseKey(petcat.Production, secret)
	must(s.t, err)
	found, err := s.store.FindKeys(s.t.Context(), []petcat.KeyHash{hash})
	must(s.t, err)
	if got := found[0].State(s.clock.Read().Time()); got != want {
		s.t.Errorf("%s is %s, want %s", found[0].ID, got, want)
	}
	return found[0]
}

func TestKeys(t *testing.T) {
	s := start(t)
	b := s.admin()
	s.account("acme")
	p := b.post("accounts/acct_1/keys", "label", "backend", "expires", "2027-12-31", "read_only", "yes").want(http.StatusOK, "It is shown once")
	if p.Header.Get("Cache-Control") != "no-store" {
		t.Error("the page with a secret may be stored")
	}
	secret := secretOf(t, p)
	k := s.wantKey(secret, petcat.KeyActive)
	if k.Label != "backend" || !k.ReadOnly || !k.ExpiresAt.Equal(time.Date(2027, 12, 31, 0, 0, 0, 0, time.UTC)) {
		t.Errorf("the key is %+v", k)
	}
	s.wantAudited("operator ada", "key.create", "key_1")
	for _, path := range []string{"accounts/acct_1", "keys/key_1", "audit"} {
		b.get(path).want(http.StatusOK, "backend").lacks(secret)
	}
	b.get("accounts/acct_1").want(http.StatusOK, `<details class="create">`)
	b.post("accounts/acct_1/keys", "label", "audits", "expires", "soon", "read_only", "yes").want(http.StatusBadRequest, "The day on which it expires must look like 2027-01-31",
		`<details class="create" open>`, `value="audits"`, `name="read_only" value="yes" checked>`) // nothing that was entered is lost
	b.post("accounts/acct_1/keys", "expires", "2020-01-01").want(http.StatusBadRequest, "must be in the future")
	b.post("accounts/acct_1/keys", "expires", "0001-01-01").want(http.StatusBadRequest, "The day on which it expires must look like 2027-01-31") // it would be never

	p = b.post("keys/key_1/rotate", "overlap", "24h").want(http.StatusOK, "key_2", "15 Mar 2027, 12:00")
	s.wantAudited("operator ada", "key.rotate", "key_1")
	successor := secretOf(t, p)
	s.wantKey(successor, petcat.KeyActive)
	b.post("keys/key_1/rotate", "overlap", "24h").want(http.StatusBadRequest, "was rotated already")
	b.post("keys/key_2/rotate", "overlap", "24").want(http.StatusBadRequest)
	b.post("keys/key_2/rotate", "overlap", "0s").want(http.StatusOK, "Rotate the key key_2 without an overlap?", "acme (<code>acct_1", "<dd>never</dd>", `action="/console/keys/key_2/rotate?overlap=0s&sure=yes"`)
	s.wantKey(successor, petcat.KeyActive)
	b.get("keys/key_1").want(http.StatusOK, "key_2").lacks("Rotate the key")
	s.clock.Advance(24 * time.Hour)
	b = s.admin()
	s.wantKey(secret, petcat.KeyExpired)

	b.post("keys/key_2/disable").wantGoesTo("keys/key_2?done=disabled")
	s.wantKey(successor, petcat.KeyDisabled)
	b.get("keys/key_2").want(http.StatusOK, "Enable the key")
	b.post("keys/key_2/enable").wantGoesTo("keys/key_2?done=enabled")
	s.wantKey(successor, petcat.KeyActive)
	b.get("keys/key_2/revoke").want(http.StatusOK, "for good")
	s.wantKey(successor, petcat.KeyActive)
	b.post("keys/key_2/revoke").wantGoesTo("keys/key_2?done=revoked")
	s.wantKey(successor, petcat.KeyRevoked)
	s.wantAudited("operator ada", "key.revoke", "key_2")
	b.get("keys/key_2").want(http.StatusOK, "revoked").lacks("Revoke…", "Disable the key")
	b.post("keys/key_2/enable").want(http.StatusBadRequest, "was revoked permanently")

	b.get("keys/key_9").want(http.StatusNotFound)
	b.get("keys/x").want(http.StatusNotFound)
}

func TestBans(t *testing.T) {
	s := start(t)
	b := s.admin()
	a := s.account("acme")
	b.get("bans").want(http.StatusOK, "No key is banned.")
	for range pageSize + 1 {
		k := s.key(a.ID)
		must(t, s.store.SaveBan(t.Context(), petcat.Ban{Key: k.ID, Account: a.ID, Level: 3, StartedAt: noon, EndsAt: noon.Add(15 * time.Minute), EarlyRetries: 41}))
	}
	b.get("").want(http.StatusOK, "50+")
	p := b.get("bans").want(http.StatusOK, "41 early retries", "14 Mar 2027, 12:15", "Next page")
	p.lacks("key_51")
	b.get("bans?after=key_50").want(http.StatusOK, "key_51", "First page")
	b.get("keys/key_1").want(http.StatusOK, "banned", "Lift the ban")
	b.post("bans/key_1/lift", "from", "key").wantGoesTo("keys/key_1?done=lifted")
	s.wantAudited("operator ada", "ban.lift", "key_1")
	b.post("bans/key_2/lift").wantGoesTo("bans?done=lifted")
	b.post("bans/key_1/lift").want(http.StatusNotFound, "is not banned now")
	b.get("bans").want(http.StatusOK, "key_51").lacks("key_1<", "key_2<")
	b.get("bans?all=yes").want(http.StatusOK, "by operator ada")
	b.get("accounts/acct_1").want(http.StatusOK, "49 of its keys are banned", `keys/key_51"><code>key_51</code>`, "badge banned")

	// What is only counted bans nobody.
	shop := s.account("shop")
	k := s.key(shop.ID)
	must(t, s.store.SaveBan(t.Context(), petcat.Ban{Key: k.ID, Account: shop.ID, Level: 1, StartedAt: noon, EndsAt: noon.Add(time.Minute), Shadow: true}))
	b.get("accounts/"+shop.ID.String()).want(http.StatusOK, k.ID.String()).lacks("banned")
	s.clock.Advance(15 * time.Minute)
	b.get("").want(http.StatusOK, `bans">0<`)
}

// versionOf returns the version that a category's form has.
func versionOf(t *testing.T, p *page) string {
	t.Helper()
	found := regexp.MustCompile(`name="version" value="([^"]+)"`).FindStringSubmatch(p.text)
	if found == nil {
		t.Fatal("the form has no version")
	}
	return found[1]
}

func TestCategories(t *testing.T) {
	s := start(t)
	b := s.admin()
	b.get("categories").want(http.StatusOK, "There are no categories yet.")
	b.post("categories", "name", "Dogs", "description", "Loyal,\r\nand hungry").wantGoesTo("categories/1?done=category")
	s.wantAudited("operator ada", "category.create", "category_1")
	b.post("categories", "name", "").want(http.StatusBadRequest)
	b.get("categories/1").want(http.StatusOK, "Dogs", "Loyal,\nand hungry")
	shown := versionOf(t, b.get("categories/1"))
	b.post("categories/1", "version", shown, "name", "Hounds").wantGoesTo("categories/1?done=updated")
	s.wantAudited("operator ada", "category.update", "category_1")
	b.get("categories/1").want(http.StatusOK, "Hounds").lacks("Loyal")
	// Who opened the page before that change is told of it, and keeps what was entered.
	p := b.post("categories/1", "version", shown, "name", "Wolves").want(http.StatusBadRequest, `whose name is now "Hounds"`, `value="Wolves"`)
	b.get("categories/1").want(http.StatusOK, "Hounds")
	b.post("categories/1", "version", versionOf(t, p), "name", strings.Repeat("x", 1001), "description", "a long text").want(http.StatusBadRequest, "at most 1000 characters", ">\na long text<")
	// What the browser rewrote and nobody changed stays as it is.
	name, description := " sp ", "a\r\nb\rc"
	odd, err := petcat.ParseNewCategory(&name, &description)
	must(t, err)
	_, err = s.store.CreateCategory(t.Context(), petcat.CreateCategory{By: "test", New: odd})
	must(t, err)
	shown = versionOf(t, b.get("categories/2"))
	b.post("categories/2", "version", shown, "name", " sp ", "description", "a\r\nb\r\nc").wantGoesTo("categories/2?done=updated")
	if versionOf(t, b.get("categories/2")) != shown {
		t.Error("a category that nobody changed is another one")
	}
	b.get("categories/1/delete").want(http.StatusOK, "Delete the category Hounds?")
	b.post("categories/1/delete").wantGoesTo("categories?done=deleted")
	s.wantAudited("operator ada", "category.delete", "category_1")
	b.get("categories/1").want(http.StatusNotFound)
	b.post("categories/1/delete").want(http.StatusNotFound)
	b.get("categories/x").want(http.StatusNotFound)

	b.post("categories", "name", "Cats").wantGoesTo("categories/3?done=category")
	tom, id := "Tom", petcat.CategoryID(3)
	pet, err := petcat.ParseNewPet(&tom, &id)
	must(t, err)
	_, err = s.store.CreatePet(t.Context(), petcat.CreatePet{Account: s.account("acme").ID, New: pet})
	must(t, err)
	b.post("categories/3/delete").want(http.StatusBadRequest, "Pets use this category, so it cannot be deleted.", "Delete the category Cats?")
}

func TestAudit(t *testing.T) {
	s := start(t)
	b := s.admin()
	for i := range pageSize {
		s.account(fmt.Sprintf("shop %d", i))
	}
	s.key(7)
	p := b.get("audit").want(http.StatusOK, "key.create", "Older")
	p.lacks("operator.sign_in")
	b.get("audit?before=3").want(http.StatusOK, "operator.sign_in", "Newest").lacks("account.create", "Older")
	b.get("audit?actor=operator+ada").want(http.StatusOK, "operator.sign_in").lacks("account.create")
	b.get("audit?about=key_1").want(http.StatusOK, "key.create", "label: made before").lacks("account.create")
	b.get("audit?about=shop+6").want(http.StatusOK, "key.create", "account.create").lacks("acct_8")
	b.get("audit?about=nobody").want(http.StatusBadRequest, "There is no account", `data-field="about"`).lacks("account.create", "no such entries")
}

// TestAccountsOfToday: operators compare accounts by what they did today.
func TestAccountsOfToday(t *testing.T) {
	s := start(t)
	b := s.admin()
	busy, refused := s.account("busy"), s.account("refused")
	k := s.key(refused.ID)
	must(t, s.store.AddUsage(t.Context(), petcat.UsageBatch{
		Node: "N1", Number: 1, SeenAt: noon, Keys: []petcat.KeyUse{{Key: k.ID, At: noon.Add(-time.Minute)}},
		Counts: []petcat.UsageCount{
			{Account: busy.ID, Hour: noon.Unix() / 3600, UsageCounts: petcat.UsageCounts{Requests: 812}},
			{Account: refused.ID, Hour: noon.Unix() / 3600, UsageCounts: petcat.UsageCounts{Requests: 60, MinuteRefused: 1234}},
		},
	}))
	must(t, s.store.SaveBan(t.Context(), petcat.Ban{Key: k.ID, Account: refused.ID, Level: 1, StartedAt: noon, EndsAt: noon.Add(time.Minute)}))
	b.get("accounts").want(http.StatusOK, "812", "1,234")
	for sort, first := range map[string]string{"requests": "busy", "refusals": "refused"} {
		p := b.get("accounts?sort="+sort).want(http.StatusOK, "1,234", "14 Mar 2027, 11:59:18", "1 banned")
		if found := regexp.MustCompile(`accounts/acct_\d+">(\w+)<`).FindStringSubmatch(p.main()); found == nil || found[1] != first {
			t.Errorf("by %s, the first account is %v, want %s", sort, found, first)
		}
	}
}

func TestFind(t *testing.T) {
	s := start(t)
	b := s.admin()
	a := s.account("Acme")
	secret := secretOf(t, b.post("accounts/acct_1/keys", "label", "backend"))
	k := s.wantKey(secret, petcat.KeyActive)
	must(t, s.store.AddUsage(t.Context(), petcat.UsageBatch{Node: "N1", Number: 1, SeenAt: noon, Refusals: []petcat.Refusal{
		{Account: a.ID, Key: k.ID, Code: petcat.CodeKeyBanned, Count: 3, First: noon, Last: noon, RequestID: "01JP9", Status: 429, Until: noon.Add(time.Minute)},
	}}))
	for text, path := range map[string]string{"ACCT_7": "accounts/acct_7", " KEY_8": "keys/key_8", "Authorization: Bearer " + secret: "keys/key_1"} {
		b.post("find", "q", text).wantGoesTo(path)
	}
	b.post("find", "q", "aC").want(http.StatusOK, "acct_1", "Acme")
	b.post("find", "q", k.Hint).want(http.StatusOK, "key_1", "backend")
	b.post("find", "q", "01JP9").want(http.StatusOK, "The key was banned", "accounts/acct_1")
	b.post("find", "q", "nobody").want(http.StatusOK, "Nothing was found. Search finds accounts by id")
	b.post("find", "q", secret[:30]).want(http.StatusOK, "Nothing was found").lacks(secret[:30])
	other, err := petcat.GenerateKey(petcat.Production, rand.Reader)
	must(t, err)
	b.post("find", "q", other.Secret.Reveal()).want(http.StatusOK, "This service never created a key").lacks(other.Secret.Reveal())
	b.post("find", "q", other.Secret.Reveal()+" "+secret).want(http.StatusOK, "key_1").lacks(secret)
	s.viewer().post("find", "q", "acme").want(http.StatusOK, "acct_1")
	b.get("find?q=acme").want(http.StatusNotFound)
}

func TestPlanRequests(t *testing.T) {
	s := start(t)
	b := s.admin()
	b.get("requests").want(http.StatusOK, "No request waits for an answer.")
	for i, plan := range []petcat.Plan{petcat.Pro, petcat.Enterprise, petcat.Business} {
		a := s.account(fmt.Sprintf("shop %d", i+1))
		n, err := petcat.ParseNewPlanRequest(a.ID, string(plan), "we grow")
		must(t, err)
		_, err = s.store.RequestPlan(t.Context(), n)
		must(t, err)
	}
	b.get("").want(http.StatusOK, "3 customers ask for another plan.")
	b.get("requests").want(http.StatusOK, "shop 1", "from Free to Pro", "we grow")
	b.post("requests/1/approve").wantGoesTo("requests?done=approved")
	s.wantAudited("operator ada", "account.set_plan", "acct_1")
	b.post("requests/2/approve", "request", "2").want(http.StatusBadRequest, `data-field="per_minute">The enterprise plan needs both numbers`)
	b.post("requests/2/approve", "request", "2", "per_minute", "x", "per_day", "70").want(http.StatusBadRequest, `data-field="per_minute">The quota per minute must be a number`, `value="70"`)
	b.post("requests/2/approve", "request", "2", "per_minute", "5,000", "per_day", "70000").wantGoesTo("requests?done=approved")
	b.post("requests/3/decline").wantGoesTo("requests?done=declined")
	b.post("requests/3/approve").want(http.StatusBadRequest, "The plan request 3 was declined already.")
	b.get("requests?all=yes").want(http.StatusOK, "shop 3", "declined", "by operator ada", "from Enterprise to Enterprise")
	b.get("accounts/acct_2").want(http.StatusOK, "70,000")
}

// TestOnce: a form that is sent twice makes one of each.
func TestOnce(t *testing.T) {
	s := start(t)
	b := s.admin()
	b.post("accounts", "name", "acme", "plan", "free", "once", "a1").wantGoesTo("accounts/acct_1?done=account")
	b.post("accounts", "name", "acme", "plan", "free", "once", "a1").wantGoesTo("accounts/acct_1?done=repeated")
	b.post("accounts/acct_1/keys", "label", "backend", "once", "a2").want(http.StatusOK, "key_1")
	b.post("accounts/acct_1/keys", "label", "backend", "once", "a2").wantGoesTo("keys/key_1?done=repeated")
	b.post("keys/key_1/rotate", "overlap", "1h", "once", "a3").want(http.StatusOK, "key_2")
	b.post("keys/key_1/rotate", "overlap", "1h", "once", "a3").wantGoesTo("keys/key_1?done=repeated")
	b.post("categories", "name", "Dogs", "once", "a4").wantGoesTo("categories/1?done=category")
	b.post("categories", "name", "Dogs", "once", "a4").wantGoesTo("categories/1?done=category")
	b.get("categories").want(http.StatusOK, "Dogs", "an operator", "14 Mar 2027, 12:00:18")
	if found := regexp.MustCompile(`name="once" value="([a-z2-7]{32})"`).FindAllStringSubmatch(b.get("accounts").text+b.get("accounts").text, -1); len(found) != 2 || found[0][1] == found[1][1] {
		t.Errorf("two pages have the forms %v", found)
	}
}

func TestOverview(t *testing.T) {
	s := start(t)
	b := s.admin()
	b.get("").want(http.StatusOK, ">healthy<", "Nobody was refused.", `<span class="share">– %</span>`, "<small>0 categories</small>")
	b.post("categories", "name", "Dogs").want(http.StatusSeeOther)
	b.get("").want(http.StatusOK, "<small>1 category</small>")
	s.parts[0].Problem = "the database does not respond"
	for i := range 180 {
		var unhealthy []string
		for range 24 {
			s.history.Count(http.StatusOK, "", 2*time.Millisecond)
		}
		s.history.Count(http.StatusOK, "", 30*time.Millisecond)
		if i >= 90 {
			unhealthy = []string{"store"}
			s.history.Count(http.StatusTooManyRequests, petcat.CodeKeyBanned, 0)
			s.history.Count(http.StatusTooManyRequests, petcat.CodeKeyBanned, 0)
			s.history.Count(http.StatusUnauthorized, petcat.CodeInvalidAPIKey, 0)
		}
		s.history.Take(noon.Add(time.Duration(i+1)*StepLength), unhealthy)
	}
	b.get("").want(http.StatusOK, "degraded", "the database does not respond", "<strong>168</strong>", "4,770 in the last hour",
		"<strong>270</strong>", "2.50 ms", "99 % below 50 ms", "Store: healthy for 50 percent", "Limiter: healthy for 100 percent", "key_banned", "67 %", "33 %")
	b.get("history.json?span=hour").want(http.StatusOK, "2.5", "0.3")
}
