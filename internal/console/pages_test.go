package console

import (
	"crypto/rand"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/pages"
	"github.com/petcat-api/petcat/internal/pagetest"
	"github.com/petcat-api/petcat/internal/store"
)

func TestAccounts(t *testing.T) {
	s := start(t)
	b := s.admin()
	b.Get("accounts").Want(http.StatusOK, "There are no accounts yet.")
	acme := []string{"name", "acme <b>", "plan", "enterprise", "per_minute", "5,000", "per_day", "2000000"}
	b.Post("accounts", acme...).WantGoesTo("accounts/acct_1?done=account")
	s.WantAudited("operator ada", "account.create", "acct_1")
	b.Get("accounts/acct_1?done=account").
		Want(http.StatusOK, "acme <b>", "Enterprise", "2,000,000", "The account was created.")

	b.Post("accounts", "name", " ", "plan", "free").
		Want(http.StatusBadRequest, `data-field="name">The account's name must not be empty.`)
	b.Post("accounts", "name", "acme <b>", "plan", "free").Want(http.StatusBadRequest, "already", `value="acme <b>"`)
	b.Post("accounts", "name", "x", "plan", "enterprise", "per_minute", "many", "per_day", "1").
		Want(http.StatusBadRequest, `data-field="per_minute">The quota per minute must be a number`)

	s.Account("taken")
	b.Post("accounts/acct_1/name", "name", "taken").
		Want(http.StatusBadRequest, `data-field="name"`, "already", `value="taken"`)
	b.Post("accounts/acct_1/name", "name", "acme <b>", "external_id", "C-1").WantGoesTo("accounts/acct_1?done=renamed")
	s.WantAudited("operator ada", "account.set_external_id", "acct_1")
	b.Get("accounts/acct_1").Want(http.StatusOK, "<dd>C-1</dd>", `value="C-1"`)
	b.Get("accounts").Want(http.StatusOK, "C-1")
	b.Post("accounts/acct_1/name", "name", "acme <b>", "external_id", "C 1").
		Want(http.StatusBadRequest, `data-field="external_id"`, `value="C 1"`)
	b.Post("accounts", "name", "x", "plan", "free", "external_id", "C-1").
		Want(http.StatusBadRequest, `data-field="external_id"`, "The account acct_1 has the external id")
	b.Post("find", "q", "C-1").Want(http.StatusOK, "accounts/acct_1")
	b.Post("accounts/acct_1/name", "name", " ").
		Want(http.StatusBadRequest, `data-field="name">The account's name must not be empty.`)
	b.Post("accounts/acct_1/name", "name", "Acme & Co").WantGoesTo("accounts/acct_1?done=renamed")
	s.WantAudited("operator ada", "account.rename", "acct_1")
	b.Get("accounts/acct_1?done=renamed").Want(http.StatusOK, "Acme & Co", "The account was renamed.")
	b.Post("accounts/acct_1/name", "name", "acme <b>").WantGoesTo("accounts/acct_1?done=renamed")

	b.Post("accounts/acct_1/plan", "plan", "pro").WantGoesTo("accounts/acct_1?done=plan")
	s.WantAudited("operator ada", "account.set_plan", "acct_1")
	b.Post("accounts/acct_1/plan", "plan", "enterprise", "per_minute", "lots", "per_day", "70").
		Want(http.StatusBadRequest, `value="enterprise" selected`, `value="lots"`, `value="70"`)
	b.Get("accounts/acct_1").Want(http.StatusOK, "10,000")
	for _, path := range []string{"accounts/acct_3", "accounts/x", "accounts/acct_1/x"} {
		b.Get(path).Want(http.StatusNotFound)
	}

	const wrongName = "The typed text is not the account's name"
	b.Get("accounts/acct_1/close").
		Want(http.StatusOK, "Close the account \u2068acme <b>\u2069 (acct_1)?", "cannot be undone")
	b.Post("accounts/acct_1/close", "typed", "acme").Want(http.StatusBadRequest, wrongName)
	b.Post("accounts/acct_1/close", "typed", "acme <b>").WantGoesTo("accounts/acct_1?done=closed")
	s.WantAudited("operator ada", "account.close", "acct_1")
	b.Get("accounts/acct_1").
		Want(http.StatusOK, "closed", "Delete its data…").
		Lacks("New key", "Change the plan")
	b.Get("accounts/acct_1/purge").
		Want(http.StatusOK, "Delete everything that \u2068acme <b>\u2069 (acct_1) created?", "cannot be undone")
	b.Post("accounts/acct_1/purge", "typed", "acme").Want(http.StatusBadRequest, wrongName)
	b.Post("accounts/acct_1/purge", "typed", "acme <b>").WantGoesTo("accounts/acct_1?done=purged")
	s.WantAudited("operator ada", "account.purge", "acct_1")
}

// TestCustomerPage: an admin makes links to the customer's page, which are shown once, and ends its sessions.
func TestCustomerPage(t *testing.T) {
	s := start(t)
	b := s.admin()
	s.Account("acme")
	p := b.Post("accounts/acct_1/link").Want(http.StatusOK, "It is shown once", "14 Mar 2027, 12:15")
	found := regexp.MustCompile(`<code id="secret">https://api.example.com/account#(\w+)</code>`).FindStringSubmatch(p.Text)
	if found == nil || p.Header.Get("Cache-Control") != "no-store" {
		t.Fatalf("no link, or it may be stored: %v\n%s", p.Header, p.Main())
	}
	s.WantAudited("operator ada", "account.link", "acct_1")
	for _, path := range []string{"accounts/acct_1", "audit"} {
		b.Get(path).Want(http.StatusOK).Lacks(found[1])
	}
	b.Post("accounts/acct_1/sign-out").WantGoesTo("accounts/acct_1?done=signed-out")
	b.Get("accounts/acct_1?done=signed-out").Want(http.StatusOK, "All sessions and unused links")
	s.viewer().Get("accounts/acct_1").Lacks("New link", "End all sessions", "Rename")

	off := start(t, func(o *Options) { o.CustomerLink = nil })
	off.Account("acme")
	b = off.admin()
	b.Get("accounts/acct_1").Want(http.StatusOK, "Rename").Lacks("New link", "End all sessions")
	b.Post("accounts/acct_1/link").Want(http.StatusForbidden, "Customer pages are off")
}

// wantKey checks the state of a key, and returns it.
func (s *service) wantKey(secret string, want petcat.KeyState) petcat.Key {
	s.T.Helper()
	hash, err := petcat.ParseKey(petcat.Production, secret)
	pagetest.Must(s.T, err)
	found, err := s.Store.FindKeys(s.T.Context(), []petcat.KeyHash{hash})
	pagetest.Must(s.T, err)
	if got := found[0].State(s.Clock.Read().Time()); got != want {
		s.T.Errorf("%s is %s, want %s", found[0].ID, got, want)
	}
	return found[0]
}

func TestKeys(t *testing.T) {
	s := start(t)
	b := s.admin()
	s.Account("acme")
	p := b.Post("accounts/acct_1/keys", "label", "backend", "expires", "2027-12-31", "read_only", "yes").
		Want(http.StatusOK, "It is shown once")
	if p.Header.Get("Cache-Control") != "no-store" {
		t.Error("the page with a secret may be stored")
	}
	secret := p.Secret()
	k := s.wantKey(secret, petcat.KeyActive)
	if k.Label != "backend" || !k.ReadOnly || !k.ExpiresAt.Equal(time.Date(2027, 12, 31, 0, 0, 0, 0, time.UTC)) {
		t.Errorf("the key is %+v", k)
	}
	s.WantAudited("operator ada", "key.create", "key_1")
	for _, path := range []string{"accounts/acct_1", "keys/key_1", "audit"} {
		b.Get(path).Want(http.StatusOK, "backend").Lacks(secret)
	}
	b.Get("accounts/acct_1").Want(http.StatusOK, `<details class="create">`)
	const form = "The day on which it expires must look like 2027-01-31"
	kept := []string{`<details class="create" open>`, `value="audits"`, `name="read_only" value="yes" checked>`}
	b.Post("accounts/acct_1/keys", "label", "audits", "expires", "soon", "read_only", "yes").
		Want(http.StatusBadRequest, append(kept, form)...)
	b.Post("accounts/acct_1/keys", "expires", "2020-01-01").
		Want(http.StatusBadRequest, "at least a minute in the future")
	b.Post("accounts/acct_1/keys", "expires", "", "networks", "office").
		Want(http.StatusBadRequest, `data-field="networks">A network is in CIDR notation`, `value="office"`)
	const zeroTime = "0001-01-01" // means never
	b.Post("accounts/acct_1/keys", "expires", zeroTime).Want(http.StatusBadRequest, form)

	b.Get("keys/key_1").Want(http.StatusOK, `value="backend"`, `value="2027-12-31"`)
	b.Post("keys/key_1", "label", "front", "expires", "").WantGoesTo("keys/key_1?done=edited")
	s.WantAudited("operator ada", "key.edit", "key_1")
	b.Get("keys/key_1?done=edited").Want(http.StatusOK, "The key was changed.", `value="front"`, `type="date" value=""`)
	b.Post("keys/key_1", "label", "back", "expires", "soon").
		Want(http.StatusBadRequest, `value="back"`, `value="soon"`, "must look like 2027-01-31")

	b.Post("keys/key_1", "label", "front", "expires", "", "networks", "192.0.2.0/24, ::1").WantGoesTo("keys/key_1?done=edited")
	b.Post("keys/key_1", "label", "front", "expires", "").WantGoesTo("keys/key_1?done=edited") // an older form keeps them
	b.Get("keys/key_1").Want(http.StatusOK, "<dd>192.0.2.0/24 ::1/128</dd>", `value="192.0.2.0/24 ::1/128"`)

	p = b.Post("keys/key_1/rotate", "overlap", "24h").Want(http.StatusOK, "key_2", "15 Mar 2027, 12:00")
	s.WantAudited("operator ada", "key.rotate", "key_1")
	successor := p.Secret()
	s.wantKey(successor, petcat.KeyActive)
	b.Post("keys/key_1/rotate", "overlap", "24h").Want(http.StatusBadRequest, "was rotated already")
	b.Post("keys/key_2/rotate", "overlap", "24").Want(http.StatusBadRequest)
	b.Post("keys/key_2/rotate", "overlap", "0s").Want(http.StatusOK,
		"Rotate the key key_2 without an overlap?",
		"<bdi>acme</bdi> (<code>acct_1",
		"<dd>never</dd>",
		`action="/console/keys/key_2/rotate?overlap=0s&sure=yes"`,
	)
	s.wantKey(successor, petcat.KeyActive)
	b.Get("keys/key_1").Want(http.StatusOK, "key_2").Lacks("Rotate the key")
	s.Clock.Advance(24 * time.Hour)
	b = s.admin()
	s.wantKey(secret, petcat.KeyExpired)

	b.Post("keys/key_2/disable").WantGoesTo("keys/key_2?done=disabled")
	s.wantKey(successor, petcat.KeyDisabled)
	b.Get("keys/key_2").Want(http.StatusOK, "Enable the key")
	b.Post("keys/key_2/enable").WantGoesTo("keys/key_2?done=enabled")
	s.wantKey(successor, petcat.KeyActive)
	b.Get("keys/key_2/revoke").Want(http.StatusOK, "permanently")
	s.wantKey(successor, petcat.KeyActive)
	b.Post("keys/key_2/revoke").WantGoesTo("keys/key_2?done=revoked")
	s.wantKey(successor, petcat.KeyRevoked)
	s.WantAudited("operator ada", "key.revoke", "key_2")
	b.Get("keys/key_2").Want(http.StatusOK, "revoked").Lacks("Revoke…", "Disable the key")
	b.Post("keys/key_2/enable").Want(http.StatusBadRequest, "was revoked permanently")

	b.Get("keys/key_9").Want(http.StatusNotFound)
	b.Get("keys/x").Want(http.StatusNotFound)
}

func TestBans(t *testing.T) {
	s := start(t)
	b := s.admin()
	a := s.Account("acme")
	b.Get("bans").Want(http.StatusOK, "No key is banned.")
	ban := petcat.Ban{
		Account:      a.ID,
		Level:        3,
		StartedAt:    pagetest.Noon,
		EndsAt:       pagetest.Noon.Add(15 * time.Minute),
		EarlyRetries: 41,
	}
	for range pages.Size + 1 {
		ban.Key = s.Key(a.ID).ID
		pagetest.Must(t, s.Store.SaveBan(t.Context(), ban))
	}
	b.Get("").Want(http.StatusOK, "50+")
	p := b.Get("bans").Want(http.StatusOK, "41 early retries", "14 Mar 2027, 12:15", "Next page")
	p.Lacks("key_51")
	b.Get("bans?after=key_50").Want(http.StatusOK, "key_51", "First page")
	newest := b.Get("accounts/acct_1").Want(http.StatusOK)
	if got := strings.Count(newest.Text, "badge banned"); got != pages.Size {
		t.Errorf("%d keys on a page of %d banned keys have a badge", got, pages.Size)
	}
	b.Get("keys/key_1").Want(http.StatusOK, "banned", "Lift the ban")
	b.Post("bans/key_1/lift", "from", "key").WantGoesTo("keys/key_1?done=lifted")
	s.WantAudited("operator ada", "ban.lift", "key_1")
	b.Post("bans/key_2/lift").WantGoesTo("bans?done=lifted")
	b.Post("bans/key_1/lift").Want(http.StatusNotFound, "is not banned now")
	b.Get("bans").Want(http.StatusOK, "key_51").Lacks("key_1<", "key_2<")
	b.Get("bans?all=yes").Want(http.StatusOK, "by operator ada")
	b.Get("accounts/acct_1").
		Want(http.StatusOK, "49 of its keys are banned", `keys/key_51"><code>key_51</code>`, "badge banned")

	// Bans in shadow mode are not in force.
	shop := s.Account("shop")
	ban.Key, ban.Account, ban.Shadow = s.Key(shop.ID).ID, shop.ID, true
	pagetest.Must(t, s.Store.SaveBan(t.Context(), ban))
	b.Get("accounts/"+shop.ID.String()).Want(http.StatusOK, ban.Key.String()).Lacks("banned")
	s.Clock.Advance(15 * time.Minute)
	b.Get("").Want(http.StatusOK, `bans">0<`)
}

// versionOf returns the version that a category's form has.
func versionOf(t *testing.T, p *pagetest.Page) string {
	t.Helper()
	found := regexp.MustCompile(`name="version" value="([^"]+)"`).FindStringSubmatch(p.Text)
	if found == nil {
		t.Fatal("the form has no version")
	}
	return found[1]
}

// TestFindManyKeys: a search shows at most a page of the keys with a hint.
func TestFindManyKeys(t *testing.T) {
	s := start(t)
	b := s.admin()
	s.Account("Acme")
	for range pages.Size + 1 {
		b.Post("accounts/acct_1/keys", "label", "backend")
	}
	pagetest.Must(t, s.Store.Change(t.Context(), "give all keys one hint", func(tx *store.Tx) error {
		return tx.Run(`UPDATE api_keys SET hint = 'aaaa'`)
	}))
	found := b.Post("find", "q", "aaaa").Want(http.StatusOK, "key_51", "key_2")
	if n := strings.Count(found.Main(), "<code>key_"); n != pages.Size {
		t.Errorf("found %d keys, want %d", n, pages.Size)
	}
}

func TestCategories(t *testing.T) {
	s := start(t)
	b := s.admin()
	b.Get("categories").Want(http.StatusOK, "There are no categories yet.")
	b.Post("categories", "name", "Dogs", "description", "Loyal,\r\nand hungry").WantGoesTo("categories/1?done=category")
	s.WantAudited("operator ada", "category.create", "category_1")
	b.Post("categories", "name", "").Want(http.StatusBadRequest)
	b.Get("categories").Want(http.StatusOK, "Dogs").Lacks("First page")
	b.Get("categories?after=1").Want(http.StatusOK, "First page").Lacks("Dogs")
	b.Get("categories/1").Want(http.StatusOK, "Dogs", "Loyal,\nand hungry")
	shown := versionOf(t, b.Get("categories/1"))
	b.Post("categories/1", "version", shown, "name", "Hounds").WantGoesTo("categories/1?done=updated")
	s.WantAudited("operator ada", "category.update", "category_1")
	b.Get("categories/1").Want(http.StatusOK, "Hounds").Lacks("Loyal")
	// A page opened before the change reports it, and keeps the input.
	p := b.Post("categories/1", "version", shown, "name", "Wolves").
		Want(http.StatusBadRequest, `its name is now "Hounds"`, `value="Wolves"`)
	b.Get("categories/1").Want(http.StatusOK, "Hounds")
	tooLong := strings.Repeat("x", 1001)
	b.Post("categories/1", "version", versionOf(t, p), "name", tooLong, "description", "a long text").
		Want(http.StatusBadRequest, "at most 1000 characters", ">\na long text<")
	// Text that only the browser rewrote stays unchanged.
	name, description := " sp ", "a\r\nb\rc"
	odd, err := petcat.ParseNewCategory(&name, &description)
	pagetest.Must(t, err)
	_, err = s.Store.CreateCategory(t.Context(), petcat.CreateCategory{By: "test", New: odd})
	pagetest.Must(t, err)
	shown = versionOf(t, b.Get("categories/2"))
	b.Post("categories/2", "version", shown, "name", " sp ", "description", "a\r\nb\r\nc").
		WantGoesTo("categories/2?done=updated")
	if versionOf(t, b.Get("categories/2")) != shown {
		t.Error("an unchanged category was written")
	}
	b.Get("categories/1/delete").Want(http.StatusOK, "Delete the category \u2068Hounds\u2069?")
	b.Post("categories/1/delete").WantGoesTo("categories?done=deleted")
	s.WantAudited("operator ada", "category.delete", "category_1")
	b.Get("categories/1").Want(http.StatusNotFound)
	b.Post("categories/1/delete").Want(http.StatusNotFound)
	b.Get("categories/x").Want(http.StatusNotFound)

	b.Post("categories", "name", "Cats").WantGoesTo("categories/3?done=category")
	tom, id := "Tom", petcat.CategoryID(3)
	pet, err := petcat.ParseNewPet(&tom, &id)
	pagetest.Must(t, err)
	_, err = s.Store.CreatePet(t.Context(), petcat.CreatePet{
		Account: s.Account("acme").ID,
		New:     pet,
	})
	pagetest.Must(t, err)
	b.Post("categories/3/delete").WantGoesTo("categories?done=deleted")

	b.Post("find", "q", "pet_1").WantGoesTo("pets/1")
	b.Get("pets/1").Want(http.StatusOK, "Tom", "pet 1", `href="/console/categories/3"`)
	b.Get("pets/1/delete").Want(http.StatusOK, "Delete the pet \u2068Tom\u2069?")
	b.Post("pets/1/delete").WantGoesTo("categories?done=pet")
	s.WantAudited("operator ada", "pet.delete", "pet_1")
	b.Get("pets/1").Want(http.StatusNotFound)
}

func TestAudit(t *testing.T) {
	s := start(t)
	b := s.admin()
	for i := range pages.Size {
		s.Account(fmt.Sprintf("shop %d", i))
	}
	s.Key(7)
	p := b.Get("audit").Want(http.StatusOK, "key.create", "Older")
	p.Lacks("operator.sign_in")
	b.Get("audit?before=3").Want(http.StatusOK, "operator.sign_in", "Newest").Lacks("account.create", "Older")
	b.Get("audit?actor=operator+ada").Want(http.StatusOK, "operator.sign_in").Lacks("account.create")
	b.Get("audit?about=key_1").
		Want(http.StatusOK, "key.create", `<div class="member"><b>label</b>: <bdi>made before</bdi></div>`).
		Lacks("account.create")
	b.Get("audit?about=shop+6").Want(http.StatusOK, "key.create", "account.create").Lacks("acct_8")
	b.Get("audit?about=nobody").
		Want(http.StatusBadRequest, "There is no account", `data-field="about"`).
		Lacks("account.create", "No matching entries")
}

// TestVerifyAudit: a check of the audit log shows its head, and an entry that was altered.
func TestVerifyAudit(t *testing.T) {
	s := start(t)
	b := s.viewer()
	s.Account("acme")
	head := s.LastAudit()
	b.Get("audit").Want(http.StatusOK, `href="/console/audit/verify"`)
	b.Get("audit/verify").
		Want(http.StatusOK, "No entry was changed, removed or moved.", fmt.Sprintf("<code>%d:%x</code>", head.Sequence, head.Hash))
	pagetest.Must(t, s.Store.Change(t.Context(), "alter an entry", func(tx *store.Tx) error {
		return tx.Run(`DROP TRIGGER audit_not_updated; UPDATE audit SET actor = 'nobody' WHERE sequence = 1`)
	}))
	b.Get("audit/verify").
		Want(http.StatusOK, "audit entry 1 does not have the hash", "restore an earlier backup").Lacks("No entry was changed")
}

// TestTopAccounts: accounts are sorted by today's requests or rejections.
func TestTopAccounts(t *testing.T) {
	s := start(t)
	b := s.admin()
	busy, rejected := s.Account("busy"), s.Account("rejected")
	k := s.Key(rejected.ID)
	hour := pagetest.Noon.Unix() / 3600
	pagetest.Must(t, s.Store.AddUsage(t.Context(), petcat.UsageBatch{
		Node:   "N1",
		Number: 1,
		SeenAt: pagetest.Noon,
		Keys:   []petcat.KeyUse{{Key: k.ID, At: pagetest.Noon.Add(-time.Minute)}},
		Counts: []petcat.UsageCount{
			{Account: busy.ID, Hour: hour, UsageCounts: petcat.UsageCounts{Requests: 812}},
			{Account: rejected.ID, Hour: hour, UsageCounts: petcat.UsageCounts{Requests: 60, MinuteRejected: 1234}},
		},
	}))
	pagetest.Must(t, s.Store.SaveBan(t.Context(), petcat.Ban{
		Key:       k.ID,
		Account:   rejected.ID,
		Level:     1,
		StartedAt: pagetest.Noon,
		EndsAt:    pagetest.Noon.Add(time.Minute),
	}))
	b.Get("accounts").Want(http.StatusOK, "812", "1,234")
	for sort, first := range map[string]string{"requests": "busy", "rejections": "rejected"} {
		p := b.Get("accounts?sort="+sort).Want(http.StatusOK, "1,234", "14 Mar 2027, 11:59:18", "1 banned")
		found := regexp.MustCompile(`accounts/acct_\d+">(\w+)<`).FindStringSubmatch(p.Main())
		if found == nil || found[1] != first {
			t.Errorf("by %s, the first account is %v, want %s", sort, found, first)
		}
	}
}

func TestFind(t *testing.T) {
	s := start(t)
	b := s.admin()
	a := s.Account("Acme")
	secret := b.Post("accounts/acct_1/keys", "label", "backend").Secret()
	k := s.wantKey(secret, petcat.KeyActive)
	pagetest.Must(t, s.Store.AddUsage(t.Context(), petcat.UsageBatch{
		Node:   "N1",
		Number: 1,
		SeenAt: pagetest.Noon,
		Rejections: []petcat.Rejection{{
			Account:   a.ID,
			Key:       k.ID,
			Code:      petcat.CodeKeyBanned,
			Count:     3,
			First:     pagetest.Noon,
			Last:      pagetest.Noon,
			RequestID: "01JP9",
			Status:    429,
			Until:     pagetest.Noon.Add(time.Minute),
		}},
	}))
	for text, path := range map[string]string{
		"ACCT_7":                          "accounts/acct_7",
		" KEY_8":                          "keys/key_8",
		"Authorization: Bearer " + secret: "keys/key_1",
	} {
		b.Post("find", "q", text).WantGoesTo(path)
	}
	b.Post("find", "q", "aC").Want(http.StatusOK, "acct_1", "Acme")
	b.Post("find", "q", k.Hint).Want(http.StatusOK, "key_1", "backend")
	b.Post("find", "q", "01JP9").Want(http.StatusOK, "The key was banned", "accounts/acct_1")
	b.Post("find", "q", "nobody").Want(http.StatusOK, "No results. Search finds accounts by ID")
	b.Post("find", "q", secret[:30]).Want(http.StatusOK, "No results").Lacks(secret[:30])
	g, err := petcat.GenerateKey(petcat.Production, rand.Reader)
	pagetest.Must(t, err)
	other := g.Secret.Reveal()
	b.Post("find", "q", other).Want(http.StatusOK, "This service never created a key").Lacks(other)
	b.Post("find", "q", other+" "+secret).Want(http.StatusOK, "key_1").Lacks(secret)
	s.viewer().Post("find", "q", "acme").Want(http.StatusOK, "acct_1")
	b.Get("find?q=acme").Want(http.StatusNotFound)
}

func TestPlanRequests(t *testing.T) {
	s := start(t)
	b := s.admin()
	b.Get("requests").Want(http.StatusOK, "No pending requests.")
	for i, plan := range []petcat.Plan{petcat.Pro, petcat.Enterprise, petcat.Business} {
		a := s.Account(fmt.Sprintf("shop %d", i+1))
		n, err := petcat.ParseNewPlanRequest(a.ID, string(plan), "we grow")
		pagetest.Must(t, err)
		_, err = s.Store.RequestPlan(t.Context(), petcat.By(a.ID.Actor()), n)
		pagetest.Must(t, err)
	}
	b.Get("").Want(http.StatusOK, "3 customers ask for another plan.")
	b.Get("requests").Want(http.StatusOK, "shop 1", "from Free to Pro", "we grow")
	b.Post("requests/1/approve").WantGoesTo("requests?done=approved")
	s.WantAudited("operator ada", "account.set_plan", "acct_1")
	b.Post("requests/2/approve", "request", "2").
		Want(http.StatusBadRequest, `data-field="per_minute">The enterprise plan needs both numbers`)
	b.Post("requests/2/approve", "request", "2", "per_minute", "x", "per_day", "70").
		Want(http.StatusBadRequest, `data-field="per_minute">The quota per minute must be a number`, `value="70"`)
	b.Post("requests/2/approve", "request", "2", "per_minute", "5,000", "per_day", "70000").
		WantGoesTo("requests?done=approved")
	b.Post("requests/3/decline").WantGoesTo("requests?done=declined")
	b.Post("requests/3/approve").Want(http.StatusBadRequest, "The plan request 3 was declined already.")
	b.Get("requests?all=yes").
		Want(http.StatusOK, "shop 3", "declined", "by operator ada", "from Enterprise to Enterprise")
	b.Get("accounts/acct_2").Want(http.StatusOK, "70,000")
}

// addNode adds a running node with the label web-1.
func (s *service) addNode() {
	s.T.Helper()
	node := petcat.Node{ID: "N1", Label: "web-1", Version: "1.2.3", State: "ready", Since: pagetest.Noon}
	_, err := s.Store.Heartbeat(s.T.Context(), node)
	pagetest.Must(s.T, err)
}

// stage creates accounts, a banned key, plan requests of both accounts, a category and a pet, and a node.
func (s *service) stage() {
	t := s.T
	t.Helper()
	acme, shop := s.Account("acme"), s.Account("shop")
	k := s.Key(acme.ID)
	ends := pagetest.Noon.Add(time.Minute)
	ban := petcat.Ban{Key: k.ID, Account: acme.ID, Level: 1, StartedAt: pagetest.Noon, EndsAt: ends}
	pagetest.Must(t, s.Store.SaveBan(t.Context(), ban))
	for _, a := range []petcat.Account{acme, shop} {
		asked, err := petcat.ParseNewPlanRequest(a.ID, "business", "we grow")
		pagetest.Must(t, err)
		_, err = s.Store.RequestPlan(t.Context(), petcat.By(a.ID.Actor()), asked)
		pagetest.Must(t, err)
	}
	s.addNode()
	name := "Dogs"
	dogs, err := petcat.ParseNewCategory(&name, nil)
	pagetest.Must(t, err)
	_, err = s.Store.CreateCategory(t.Context(), petcat.CreateCategory{By: "test", New: dogs})
	pagetest.Must(t, err)
	rex, err := petcat.ParseNewPet(&name, new(petcat.CategoryID(1)))
	pagetest.Must(t, err)
	_, err = s.Store.CreatePet(t.Context(), petcat.CreatePet{Account: 1, New: rex})
	pagetest.Must(t, err)
}

// ids matches the ids in paths.
var ids = regexp.MustCompile(`[a-z]*_?[0-9]+|cleo`)

// TestOnce: every form that is sent twice makes its change once. The second time, the response redirects
// to the result's page.
func TestOnce(t *testing.T) {
	s := start(t)
	s.stage()
	b := s.admin()
	version := versionOf(t, b.Get("categories/1"))
	const shown, done = http.StatusOK, http.StatusSeeOther // a page with a secret, or a redirect
	tested := make(map[string]bool)
	for i, c := range []struct {
		path   string
		form   []string
		status int
		result string
	}{
		{"accounts", []string{"name", "zoo", "plan", "free"}, done, "accounts/acct_3"},
		{"accounts/acct_1/name", []string{"name", "Acme"}, done, "accounts/acct_1"},
		{"accounts/acct_1/link", nil, shown, "accounts/acct_1"},
		{"accounts/acct_1/sign-out", nil, done, "accounts/acct_1"},
		{"accounts/acct_1/plan", []string{"plan", "pro"}, done, "accounts/acct_1"},
		{"accounts/acct_1/keys", []string{"label", "backend"}, shown, "keys/key_2"},
		{"keys/key_1", []string{"label", "front"}, done, "keys/key_1"},
		{"keys/key_1/disable", nil, done, "keys/key_1"},
		{"keys/key_1/enable", nil, done, "keys/key_1"},
		{"bans/key_1/lift", []string{"from", "key"}, done, "keys/key_1"},
		{"keys/key_1/rotate", []string{"overlap", "1h"}, shown, "keys/key_3"},
		{"keys/key_2/rotate?overlap=0s&sure=yes", nil, shown, "keys/key_4"},
		{"keys/key_3/revoke", nil, done, "keys/key_3"},
		{"requests/1/approve", []string{"request", "1"}, done, "requests"},
		{"requests/2/decline", []string{"request", "2"}, done, "requests"},
		{"operators", []string{"name", "cleo", "role", "viewer"}, done, "operators"},
		{"operators/link", nil, shown, "operators"},
		{"operators/cleo/remove", nil, done, "operators"},
		{"tokens", []string{"token", "ci1", "token_role", "viewer"}, shown, "operators"},
		{"tokens/ci1/revoke", nil, done, "operators"},
		{"webhooks", []string{"url", "https://example.com/"}, shown, "webhooks"},
		{"webhooks/1/rotate", []string{"overlap", "1h"}, shown, "webhooks"},
		{"webhooks/1/test", nil, done, "webhooks/1"},
		{"webhooks/1/disable", nil, done, "webhooks/1"},
		{"webhooks/1/enable", nil, done, "webhooks/1"},
		{"webhooks/1/delete", nil, done, "webhooks"},
		{"log-level", []string{"level", "debug", "for", "1h"}, done, "settings"},
		{"log-level/reset", nil, done, "settings"},
		{"nodes/web-1/drain", nil, done, "nodes"},
		{"nodes/web-1/resume", nil, done, "nodes"},
		{"categories", []string{"name", "Cats"}, done, "categories/2"},
		{"categories/1", []string{"version", version, "name", "Hounds"}, done, "categories/1"},
		{"categories/1/delete", nil, done, "categories"},
		{"pets/1/delete", nil, done, "categories"},
		{"accounts/acct_1/purge", []string{"typed", "Acme"}, done, "accounts/acct_1"},
		{"accounts/acct_1/close", []string{"typed", "Acme"}, done, "accounts/acct_1"},
	} {
		path, _, _ := strings.Cut(c.path, "?")
		tested[ids.ReplaceAllString(path, "*")] = true
		form := append(c.form, "once", fmt.Sprint("form", i))
		before := s.LastAudit()
		b.Post(c.path, form...).Want(c.status)
		after := s.LastAudit()
		if after == before {
			t.Errorf("%s changed nothing", c.path)
		}
		b.Post(c.path, form...).WantGoesTo(c.result + "?done=repeated")
		if again := s.LastAudit(); again != after {
			t.Errorf("%s, sent twice: %+v", c.path, again)
		}
	}
	for _, path := range changes() {
		if !tested[ids.ReplaceAllString(path, "*")] {
			t.Errorf("%s is not tested", path)
		}
	}
	b.Get("keys/key_3?done=repeated").Want(http.StatusOK, "This was already done.")
}

// TestFormsHaveOnce: every form that changes something has a field once. Signing in and out cannot be
// repeated, a search is not a change, and session-expired.html sends a form again with its fields.
func TestFormsHaveOnce(t *testing.T) {
	form := regexp.MustCompile(`<form[^>]*method="post"[^>]*>\s*(\{\{template "once"}})?`)
	without := regexp.MustCompile(`action="\{\{base}}(sign-in|sign-out|find)"`)
	forms := 0
	for _, folder := range []string{"html", "../pages/html", "../pages/shared", "../portal/html"} {
		files, err := filepath.Glob(folder + "/*.html")
		pagetest.Must(t, err)
		for _, file := range files {
			text, err := os.ReadFile(file)
			pagetest.Must(t, err)
			for _, found := range form.FindAllStringSubmatch(string(text), -1) {
				forms++
				exempt := without.MatchString(found[0]) || filepath.Base(file) == "session-expired.html"
				if has := found[1] != ""; has == exempt {
					t.Errorf("%s: %s", file, found[0])
				}
			}
		}
	}
	if forms < 20 {
		t.Errorf("found %d forms", forms)
	}
}

// TestOnceOfEachForm: each form of a page has its own value, so that two forms of an open page can be
// sent. A value from outside the pages is rejected.
func TestOnceOfEachForm(t *testing.T) {
	s := start(t)
	s.stage()
	b := s.admin()
	seen := make(map[string]bool)
	for range 2 {
		forms := regexp.MustCompile(`name="once" value="(\w{26})"`).FindAllStringSubmatch(b.Get("keys/key_1").Text, -1)
		if len(forms) != 5 {
			t.Fatalf("the page has the forms %v", forms)
		}
		for _, form := range forms {
			if seen[form[1]] {
				t.Errorf("two forms have the value %s", form[1])
			}
			seen[form[1]] = true
		}
	}
	b.Post("accounts", "name", "zoo", "plan", "free", "once", "a").WantGoesTo("accounts/acct_3?done=account")
	b.Post("accounts", "name", "farm", "plan", "free", "once", "a").
		Want(http.StatusConflict, "was sent already, with other values")
	before := s.LastAudit()
	for _, once := range []string{"", "a b", strings.Repeat("a", petcat.MaxIdempotencyKey+1)} {
		const invalid = "field once of the form is invalid"
		b.Post("accounts", "name", "farm", "plan", "free", "once", once).Want(http.StatusBadRequest, invalid)
		b.Post("categories", "name", "Cats", "once", once).Want(http.StatusBadRequest, invalid)
		b.Post("categories/1/delete", "once", once).Want(http.StatusBadRequest, invalid)
	}
	if after := s.LastAudit(); after != before {
		t.Errorf("a rejected form wrote %+v", after)
	}
}

func TestOverview(t *testing.T) {
	s := start(t)
	b := s.admin()
	b.Get("").Want(http.StatusOK,
		"badge ready",
		"No request was rejected.",
		`<span class="share">–%</span>`,
		"<small>0 categories</small>",
	)
	b.Post("categories", "name", "Dogs").Want(http.StatusSeeOther)
	b.Get("").Want(http.StatusOK, "<small>1 category</small>")
	s.parts[0].Problem = "the database does not respond"
	s.status = "unavailable"
	for i := range 180 {
		var unhealthy []string
		s.totals.count(24, http.StatusOK, "", 2*time.Millisecond)
		s.totals.count(1, http.StatusOK, "", 30*time.Millisecond)
		if i >= 90 {
			unhealthy = []string{"store"}
			s.totals.count(2, http.StatusTooManyRequests, petcat.CodeKeyBanned, 0)
			s.totals.count(1, http.StatusUnauthorized, petcat.CodeInvalidAPIKey, 0)
		}
		end := pagetest.Noon.Add(time.Duration(i+1) * StepLength)
		s.history.Take(end, s.totals.clone(), unhealthy)
	}
	b.Get("").Want(http.StatusOK,
		"badge unavailable",
		"the database does not respond",
		"<strong>168</strong>", "4,770 in the last hour",
		"<strong>270</strong>", "2.50 ms", "p99 50 ms",
		"Store: healthy for 50 percent", "Limiter: healthy for 100 percent",
		"key_banned", "67%", "33%",
	)
	b.Get("history.json?span=hour").Want(http.StatusOK, `"took":10000000000,"good":25,"rejected":3,`+
		`"faulty":0,"failed":0,"reasons":{"invalid_api_key":1,"key_banned":2},`+
		`"p50":2500000,"p99":50000000,"unhealthy":["store"]`)
}

func TestOverviewOfSeveralNodes(t *testing.T) {
	s := start(t, func(o *Options) { o.Nodes = func() []petcat.Node { return make([]petcat.Node, 3) } })
	s.admin().Get("").Want(http.StatusOK,
		"in the last hour, on this node",
		"requests per hour on 3 nodes",
		"active, on all nodes",
	)
}

// TestNodesInTrouble: the page shows this node's status, but not other nodes' stale status while the
// store fails.
func TestNodesInTrouble(t *testing.T) {
	s := start(t, func(o *Options) {
		o.Nodes = func() []petcat.Node {
			return []petcat.Node{{ID: "N1", Label: "web", State: "ready"}, {ID: "N2", Label: "web-2", State: "drained"}}
		}
	})
	b := s.admin()
	s.status = "degraded"
	b.Get("nodes").Want(http.StatusOK, "badge degraded", "badge drained")
	s.parts[0].Problem = "the database does not respond"
	b.Get("nodes").Want(http.StatusOK, "badge degraded", "badge unknown").Lacks("badge drained", "badge ready")
}

// TestTokens: an admin creates tokens of the management API, which are shown once, and revokes them.
func TestTokens(t *testing.T) {
	s := start(t)
	b := s.admin()
	b.Get("operators").Want(http.StatusOK, "There are no tokens.", `<details class="create">`)
	p := b.Post("tokens", "token", "billing", "token_role", "admin", "token_expires", "2027-12-31").
		Want(http.StatusOK, "It is shown once")
	found := regexp.MustCompile(`<code id="secret">(pct_\w+)</code>`).FindStringSubmatch(p.Text)
	if found == nil || p.Header.Get("Cache-Control") != "no-store" {
		t.Fatalf("no token, or it may be stored: %v\n%s", p.Header, p.Main())
	}
	hash, err := petcat.ParseOperatorToken(found[1])
	pagetest.Must(t, err)
	token, err := s.Store.FindToken(t.Context(), hash)
	pagetest.Must(t, err)
	if token.Role != petcat.RoleAdmin || !token.ExpiresAt.Equal(time.Date(2027, 12, 31, 0, 0, 0, 0, time.UTC)) {
		t.Errorf("the token is %+v", token)
	}
	s.WantAudited("operator ada", "token.create", "token billing")
	b.Get("operators").Want(http.StatusOK, "billing", "Revoke…").Lacks(found[1])
	b.Post("tokens", "token", "billing", "token_role", "admin").
		Want(http.StatusBadRequest, `data-field="token">There is a token billing already`,
			`<details class="create" open>`, `value="billing"`)
	b.Post("tokens", "token", "b", "token_role", "admin", "token_expires", "2020-01-01").Want(http.StatusBadRequest,
		`data-field="token_expires">The expiry must be at least a minute in the future`, `value="2020-01-01"`)
	b.Get("tokens/billing/revoke").Want(http.StatusOK, "Revoke the token billing?")
	b.Post("tokens/billing/revoke").WantGoesTo("operators?done=revoked")
	s.WantAudited("operator ada", "token.revoke", "token billing")
	b.Get("operators?done=revoked").
		Want(http.StatusOK, "The token was revoked.", "badge revoked").Lacks("tokens/billing/revoke")
	b.Post("tokens/billing/revoke").Want(http.StatusNotFound)
	s.viewer().Get("operators").Want(http.StatusOK, "billing").Lacks("New token", "Revoke…")
}

// TestWebhooks: an admin creates a webhook, whose secret is shown once, and sees the receiver's response.
func TestWebhooks(t *testing.T) {
	s := start(t)
	b := s.admin()
	b.Get("webhooks").Want(http.StatusOK, "There are no webhooks.", `<details class="create">`)
	p := b.Post("webhooks", "url", "https://example.com/hook?t=1", "types", "key.banned, quota.warning").
		Want(http.StatusOK, "is shown once", "whsec_")
	if p.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("the secret may be stored: %v", p.Header)
	}
	s.WantAudited("operator ada", "webhook.create", "webhook 1")
	b.Get("webhooks").Want(http.StatusOK, "example.com", "badge enabled", "key.banned quota.warning").Lacks("whsec_")
	b.Get("webhooks/1").Want(http.StatusOK, "No deliveries yet.", "https://example.com/hook?t=1").Lacks("whsec_")
	w, err := s.Store.FindWebhook(t.Context(), 1)
	pagetest.Must(t, err)
	d := petcat.Delivery{Event: 7, Type: "key.banned", Attempt: 1, At: pagetest.Noon, Status: 500, Response: "out of order"}
	_, err = s.Store.SaveDelivery(t.Context(), w, w.After(d), &d)
	pagetest.Must(t, err)
	b.Get("webhooks/1").Want(http.StatusOK, "badge failing", "out of order", "14 Mar 2027, 12:00:18")

	b.Post("webhooks", "url", "http://example.com/").Want(http.StatusBadRequest,
		`data-field="url">Url must begin with https://`, `<details class="create" open>`, `value="http://example.com/"`)
	b.Post("webhooks", "url", "https://example.com/", "types", "key.lost").
		Want(http.StatusBadRequest, `data-field="types">`)
	b.Post("webhooks/1/rotate", "overlap", "soon").Want(http.StatusBadRequest, `data-field="overlap">Overlap must be`)
	b.Post("webhooks/1/rotate", "overlap", "1h").Want(http.StatusOK, "whsec_")
	b.Post("webhooks/1/disable").WantGoesTo("webhooks/1?done=disabled")
	b.Post("webhooks/1/test").Want(http.StatusBadRequest, "The webhook 1 is disabled; enable it first")
	b.Get("webhooks/1").Want(http.StatusOK, "Enable the webhook").Lacks("Send a test")
	s.viewer().Get("webhooks/1").Want(http.StatusOK, "out of order").Lacks("Enable the webhook", "Delete…")
	b.Get("webhooks/1/delete").Want(http.StatusOK, "Delete the webhook to example.com?")
	b.Post("webhooks/1/delete").WantGoesTo("webhooks?done=deleted")
	b.Get("webhooks/1").Want(http.StatusNotFound)
}

// TestLogLevel: an admin sets the log level of all nodes temporarily, and resets it.
func TestLogLevel(t *testing.T) {
	s := start(t)
	b := s.admin()
	const own = "Each node uses its own <code>--log-level</code>."
	b.Get("settings").Want(http.StatusOK, own, "--bans").Lacks("Reset it now")
	b.Post("log-level", "level", "debug", "for", "soon").Want(http.StatusBadRequest,
		`data-field="for">The time must be a duration`, `value="soon"`, "<option selected>debug")
	b.Post("log-level", "level", "debug", "for", "0").Want(http.StatusBadRequest, "The time must be more than 0.")
	b.Post("log-level", "level", "loud", "for", "1h").
		Want(http.StatusBadRequest, `data-field="level">The level must be`)
	b.Post("log-level", "level", "debug", "for", "30m").WantGoesTo("settings?done=level")
	s.WantAudited("operator ada", "log.set_level", "log")
	b.Get("settings?done=level").
		Want(http.StatusOK, "All nodes log debug and above until", "14 Mar 2027, 12:30", "The log level was set.")
	s.viewer().Get("settings").Want(http.StatusOK, "All nodes log debug").Lacks("Set the level", "Reset it now")
	b.Post("log-level/reset").WantGoesTo("settings?done=reset")
	s.WantAudited("operator ada", "log.reset_level", "log")
	b.Get("settings").Want(http.StatusOK, own)
}

// TestPlans: the settings page shows the numbers of all plans, also to viewers.
func TestPlans(t *testing.T) {
	s := start(t)
	s.viewer().Get("settings").
		Want(http.StatusOK, "<td>Free</td>", ">10,000</td>", ">2.0 MiB</td>", "<td>Enterprise</td>", "set per account")
}

// TestDrain: an admin drains and resumes a node.
func TestDrain(t *testing.T) {
	s := start(t)
	s.addNode()
	nodes := func() []petcat.Node {
		all, err := s.Store.Nodes(t.Context())
		pagetest.Must(t, err)
		return all
	}
	b := s.admin()
	b.Get("nodes").Want(http.StatusOK, "Drain").Lacks("Resume")
	b.Post("nodes/web-1/drain").WantGoesTo("nodes?done=drained")
	s.WantAudited("operator ada", "node.drain", "node web-1")
	if !nodes()[0].Drained {
		t.Error("the node is not drained")
	}
	b.Get("nodes?done=drained").Want(http.StatusOK, "is being drained")
	b.Post("nodes/web-1/resume").WantGoesTo("nodes?done=resumed")
	if nodes()[0].Drained {
		t.Error("the node is drained")
	}
	b.Post("nodes/web-2/drain").Want(http.StatusNotFound)
	s.viewer().Get("nodes").Lacks("Drain</button>")

	drained := start(t, func(o *Options) {
		o.Nodes = func() []petcat.Node {
			return []petcat.Node{{ID: "N2", Label: "web-2", State: "drained", Drained: true}}
		}
	})
	drained.admin().Get("nodes").Want(http.StatusOK, "nodes/web-2/resume").Lacks("nodes/web-2/drain")
}

// TestAuditNoteIsNoMember: the note of a customer cannot look like further members of an entry.
func TestAuditNoteIsNoMember(t *testing.T) {
	s := start(t)
	b := s.admin()
	a := s.Account("acme")
	request, err := petcat.ParseNewPlanRequest(a.ID, "pro", "thanks\u2069\nplan: business · request: 2")
	pagetest.Must(t, err)
	_, err = s.Store.RequestPlan(t.Context(), petcat.By(a.ID.Actor()), request)
	pagetest.Must(t, err)
	b.Get("audit").Want(http.StatusOK,
		"<b>note</b>: <bdi>thanks\u2069 plan: business · request: 2</bdi></div>"+
			`<div class="member"><b>plan</b>: <bdi>pro</bdi></div>`)
}

// TestNoticeBelongsToItsPage: a link to a page cannot show the notice of another page's change.
func TestNoticeBelongsToItsPage(t *testing.T) {
	s := start(t)
	b := s.admin()
	s.Account("acme")
	b.Get("accounts/acct_1?done=closed").Want(http.StatusOK, "The account was closed")
	for _, page := range []string{"", "accounts", "audit", "operators", "requests", "nodes"} {
		b.Get(page + "?done=closed").Want(http.StatusOK).Lacks("The account was closed")
	}
}
