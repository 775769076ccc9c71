package management

import (
	"cmp"
	"context"
	"encoding/hex"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"petcat"
	"petcat/internal/config"
)

func showAccount(a petcat.Account) object {
	state := "open"
	if a.Closed() {
		state = "closed"
	}
	return object{
		"id": a.ID.String(), "name": a.Name, "state": state, "plan": a.Plan, "per_minute": a.Quota.PerMinute, "per_day": a.Quota.PerDay,
		"created_at": a.CreatedAt, "closed_at": moment(a.ClosedAt),
	}
}

// account finds the account of the path, by id or name.
func account(c *call) (petcat.Account, error) {
	return c.Store.FindAccount(c.r.Context(), c.r.PathValue("account"))
}

func listAccounts(c *call) (any, error) {
	query := c.r.URL.Query()
	if query.Has("name") { // names are unique among open accounts
		a, err := c.Store.FindAccount(c.r.Context(), query.Get("name"))
		if petcat.CodeOf(err) == petcat.CodeNotFound || a.Name != query.Get("name") || query.Get("plan") != "" && query.Get("plan") != string(a.Plan) {
			return []object{}, nil
		}
		return []object{showAccount(a)}, err
	}
	q := petcat.AccountQuery{Plan: petcat.Plan(query.Get("plan"))}
	if q.Plan != "" && !slices.Contains(petcat.Plans(), q.Plan) {
		return nil, petcat.Errorf(petcat.CodeInvalidField, "plan must be free, pro, business or enterprise")
	}
	return listed(c, "id", showAccount, func(after string, limit int) ([]petcat.Account, error) {
		q.Limit = limit
		if after != "" {
			last, err := c.Store.FindAccount(c.r.Context(), after)
			if err != nil {
				return nil, err
			}
			q.After = petcat.AccountCursor{Name: last.Name, ID: last.ID}
		}
		return c.Store.AccountPage(c.r.Context(), q)
	})
}

// set stores a member that was sent.
func set[T any](into, sent *T) {
	if sent != nil {
		*into = *sent
	}
}

// accountJSON is what a body says of an account.
type accountJSON struct {
	Name      *string `json:"name"`
	Plan      *string `json:"plan"`
	PerMinute *int64  `json:"per_minute"`
	PerDay    *int64  `json:"per_day"`
}

// parse reads a name, a plan and its numbers. What is not sent stays as it is.
func (b accountJSON) parse(now petcat.Account) (name petcat.AccountName, s petcat.Subscription, err error) {
	text, plan, quota := now.Name, string(now.Plan), petcat.Quota{}
	if now.Plan == petcat.Enterprise && (b.Plan == nil || *b.Plan == plan) {
		quota = now.Quota
	}
	set(&text, b.Name)
	set(&plan, b.Plan)
	set(&quota.PerMinute, b.PerMinute)
	set(&quota.PerDay, b.PerDay)
	if name, err = petcat.ParseAccountName(text); err == nil {
		s, err = petcat.ParseSubscription(plan, quota.PerMinute, quota.PerDay)
	}
	return name, s, err
}

func createAccount(c *call, _ struct{}, body accountJSON) (any, error) {
	name, subscription, err := body.parse(petcat.Account{})
	if err != nil {
		return nil, err
	}
	a, _, err := once(c, body, func(ctx context.Context) (petcat.Account, error) {
		return c.Store.CreateAccount(ctx, c.actor(), name, subscription)
	}, func(id string) (petcat.Account, error) { return c.Store.FindAccount(c.r.Context(), id) })
	if err != nil {
		return nil, err
	}
	c.created("/accounts/" + a.ID.String())
	return showAccount(a), nil
}

func getAccount(_ *call, a petcat.Account) (any, error) { return showAccount(a), nil }

func changeAccount(c *call, a petcat.Account, body accountJSON) (any, error) {
	name, subscription, err := body.parse(a)
	if err != nil {
		return nil, err
	}
	if a, err = c.Store.RenameAccount(c.r.Context(), c.actor(), a.ID, name); err != nil {
		return nil, err
	}
	a, err = c.Store.ChangeSubscription(c.r.Context(), c.actor(), a.ID, subscription)
	return showAccount(a), err
}

func closeAccount(c *call, a petcat.Account) (any, error) {
	closed, err := c.Store.CloseAccount(c.r.Context(), c.actor(), a.ID)
	return showAccount(closed), err
}

// createLink returns a one-time link to the customer's page. Its token is in the fragment,
// which browsers send to nobody.
func createLink(c *call, a petcat.Account) (any, error) {
	if c.CustomerLink == nil {
		return nil, petcat.Errorf(petcat.CodeForbidden, "customer pages are off; start petcat with --customer-pages")
	}
	token, err := petcat.GenerateToken(c.Random)
	if err != nil {
		return nil, err
	}
	end, err := c.Store.LinkCustomer(c.r.Context(), c.actor(), a.ID, token.Hash)
	if err != nil {
		return nil, err
	}
	c.status = http.StatusCreated
	return object{"url": c.CustomerLink(token.Secret), "expires_at": end}, nil
}

// showCounts has refused requests by the code of their error.
func showCounts(u petcat.UsageCounts, more object) object {
	shown := object{"requests": u.Requests, "failed": u.Failed, "bytes": u.Bytes, "refused": object{
		"rate_limit_exceeded": u.MinuteRefused, "daily_quota_exceeded": u.DayRefused, "key_banned": u.BanRefused, "wrong_key": u.KeyRefused,
	}}
	maps.Copy(shown, more)
	return shown
}

func getUsage(c *call, a petcat.Account) (any, error) {
	q := petcat.UsageQuery{Account: a.ID}
	ago := petcat.UsageHours // by default
	switch by := c.r.URL.Query().Get("by"); by {
	case "", "day":
		q.Step = petcat.UsageByDay
	case "hour":
		q.Step, ago = petcat.UsageByHour, 24*time.Hour
	default:
		return nil, petcat.Errorf(petcat.CodeInvalidField, "by must be day or hour")
	}
	var err error
	if q.From, q.To, err = c.span(q.Step.Floor(c.now().Add(-ago))); err != nil {
		return nil, err
	}
	if kept := q.Step.KeptSince(c.now()); q.From.Before(kept) {
		return nil, petcat.Errorf(petcat.CodeInvalidField, "from must not be before %s: earlier %ss are not kept", kept.Format(time.RFC3339), q.Step)
	}
	h, err := c.Store.Usage(c.r.Context(), q)
	if err != nil {
		return nil, err
	}
	var total petcat.UsageCounts
	periods, gaps := []object{}, []object{}
	for _, p := range h.Periods {
		total.Add(p.UsageCounts)
		periods = append(periods, showCounts(p.UsageCounts, object{"begin": p.Begin, "incomplete": p.Incomplete}))
	}
	for _, g := range h.Gaps {
		gaps = append(gaps, object{"node": g.Node, "from": g.From, "until": g.Until})
	}
	return object{"account": a.ID.String(), "from": q.From, "to": q.To, "periods": periods, "total": showCounts(total, nil), "gaps": gaps}, nil
}

// span reads from and to, by default until now.
func (c *call) span(otherwise time.Time) (from, to time.Time, err error) {
	if from, err = c.time("from", otherwise); err != nil {
		return from, to, err
	}
	if to, err = c.time("to", c.now()); err == nil && !from.Before(to) {
		err = petcat.Errorf(petcat.CodeInvalidField, "from must be before to")
	}
	return from, to, err
}

func listRefusals(c *call, a petcat.Account) (any, error) {
	spent := func(s petcat.Spent) object { return object{"used": s.Used, "limit": s.Limit} }
	refusals, err := c.Store.Refusals(c.r.Context(), a.ID)
	shown := make([]object, len(refusals))
	for i, r := range refusals {
		shown[i] = object{
			"key": r.Key.String(), "operation": r.Operation, "status": r.Status, "code": r.Code, "count": r.Count, "first_at": r.First, "last_at": r.Last,
			"request_id": r.RequestID, "minute": spent(r.Minute), "day": spent(r.Day), "until": moment(r.Until),
		}
	}
	return shown, err
}

func topUsage(c *call) (any, error) {
	from, to, err := c.span(c.now().Add(-24 * time.Hour))
	if err != nil {
		return nil, err
	}
	q := petcat.TopQuery{From: from, To: to}
	switch by := c.r.URL.Query().Get("by"); by {
	case "", "requests":
	case "refused":
		q.ByRefused = true
	default:
		return nil, petcat.Errorf(petcat.CodeInvalidField, "by must be requests or refused")
	}
	if q.Limit, err = c.limit(20); err != nil {
		return nil, err
	}
	top, err := c.Store.TopAccounts(c.r.Context(), q)
	shown := make([]object, len(top))
	for i, t := range top {
		shown[i] = showCounts(t.UsageCounts, object{"account": t.Account.String(), "name": t.Name})
	}
	return shown, err
}

// showKey shows a key; more is what belongs to one answer alone, such as the secret.
func (c *call) showKey(k petcat.Key, more object) object {
	shown := object{
		"id": k.ID.String(), "account": k.Account.String(), "label": k.Label, "hint": k.Hint, "state": k.State(c.now()), "read_only": k.ReadOnly,
		"created_at": k.CreatedAt, "expires_at": moment(k.ExpiresAt), "disabled_at": moment(k.DisabledAt), "revoked_at": moment(k.RevokedAt), "successor": nil,
		"last_used_at": moment(k.UsedAt),
	}
	if k.Successor != 0 {
		shown["successor"] = k.Successor.String()
	}
	maps.Copy(shown, more)
	return shown
}

// key finds the key of the path.
func key(c *call) (petcat.Key, error) { return c.findKey(c.r.PathValue("key")) }

func (c *call) findKey(text string) (petcat.Key, error) {
	id, err := petcat.ParseKeyID(text)
	if err != nil {
		return petcat.Key{}, err
	}
	return c.Store.FindKey(c.r.Context(), id)
}

// pageOfKeys reads a page of keys, the newest first.
func (c *call) pageOfKeys(q petcat.KeyQuery) func(after string, limit int) ([]petcat.Key, error) {
	return func(after string, limit int) (_ []petcat.Key, err error) {
		if after != "" {
			if q.Before, err = petcat.ParseKeyID(after); err != nil {
				return nil, err
			}
		}
		q.Limit = limit
		return c.Store.KeyPage(c.r.Context(), q)
	}
}

func listKeys(c *call, a petcat.Account) (any, error) {
	return listed(c, "id", func(k petcat.Key) object { return c.showKey(k, nil) }, c.pageOfKeys(petcat.KeyQuery{Account: a.ID}))
}

type newKeyJSON struct {
	Label     string    `json:"label"`
	ExpiresAt time.Time `json:"expires_at"`
	ReadOnly  bool      `json:"read_only"`
}

func createKey(c *call, a petcat.Account, body newKeyJSON) (any, error) {
	generated, err := petcat.GenerateKey(c.Environment, c.Random)
	if err != nil {
		return nil, err
	}
	asked, err := petcat.ParseNewKey(a.ID, petcat.KeyTerms(body), c.now(), generated)
	if err != nil {
		return nil, err
	}
	k, replayed, err := once(c, body, func(ctx context.Context) (petcat.Key, error) {
		return c.Store.CreateKey(ctx, c.actor(), asked)
	}, c.findKey)
	if err != nil {
		return nil, err
	}
	c.created("/keys/" + k.ID.String())
	if replayed {
		return c.showKey(k, nil), nil
	}
	return c.showKey(k, object{"key": generated.Secret.Reveal()}), nil
}

func getKey(c *call, k petcat.Key) (any, error) {
	return c.showKey(k, nil), nil
}

// keyJSON changes a key. null as the expiry means never; what was not sent stays.
type keyJSON struct {
	Label     *string        `json:"label"`
	ExpiresAt jsontext.Value `json:"expires_at"`
}

func changeKey(c *call, k petcat.Key, body keyJSON) (any, error) {
	var expires *time.Time
	if body.ExpiresAt != nil {
		expires = new(time.Time)
		if err := json.Unmarshal(body.ExpiresAt, expires); err != nil {
			return nil, petcat.Errorf(petcat.CodeInvalidField, "expires_at must be a time such as 2027-01-31T00:00:00Z, or null for never")
		}
	}
	edit, err := petcat.ParseKeyEdit(body.Label, expires, c.now())
	if err != nil {
		return nil, err
	}
	changed, err := c.Store.EditKey(c.r.Context(), c.actor(), k.ID, edit)
	return c.showKey(changed, nil), err
}

// findKeysByHint finds keys by the characters that commands and pages show of them.
func findKeysByHint(c *call) (any, error) {
	hint, err := petcat.ParseKeyHint(c.r.URL.Query().Get("hint"))
	if err != nil {
		return nil, err
	}
	return listed(c, "id", func(k petcat.Key) object { return c.showKey(k, nil) }, c.pageOfKeys(petcat.KeyQuery{Hint: hint}))
}

type textJSON struct {
	Text string `json:"text"`
}

// findKeys finds the keys whose whole secrets are in a text, such as a leaked file.
func findKeys(c *call, _ struct{}, body textJSON) (any, error) {
	if body.Text == "" {
		return nil, petcat.Errorf(petcat.CodeMissingField, "text is required: whole keys, or a text that contains them")
	}
	var hashes []petcat.KeyHash
	for _, secret := range petcat.KeysIn(body.Text) {
		if hash, err := petcat.ParseKey(c.Environment, secret.Reveal()); err == nil {
			hashes = append(hashes, hash)
		}
	}
	found, err := c.Store.FindKeys(c.r.Context(), hashes)
	shown := []object{}
	for _, k := range found {
		shown = append(shown, c.showKey(k, nil))
	}
	return shown, err
}

type rotationJSON struct {
	Overlap string `json:"overlap"`
}

func rotateKey(c *call, k petcat.Key, body rotationJSON) (any, error) {
	overlap, err := config.ParseDuration(cmp.Or(body.Overlap, "24h"))
	if err != nil {
		return nil, petcat.Errorf(petcat.CodeInvalidField, "overlap %v", err)
	}
	generated, err := petcat.GenerateKey(c.Environment, c.Random)
	if err != nil {
		return nil, err
	}
	rotation, err := petcat.ParseRotation(k.ID, overlap, generated)
	if err != nil {
		return nil, err
	}
	successor, err := c.Store.RotateKey(c.r.Context(), c.actor(), rotation)
	if err != nil {
		return nil, err
	}
	c.created("/keys/" + successor.ID.String())
	return c.showKey(successor, object{"key": generated.Secret.Reveal()}), nil
}

func act(action petcat.KeyAction) operation {
	return on(key, func(c *call, k petcat.Key) (any, error) {
		changed, err := c.Store.ChangeKey(c.r.Context(), c.actor(), k.ID, action)
		return c.showKey(changed, nil), err
	})
}

func (c *call) showBan(b petcat.Ban) object {
	return object{
		"key": b.Key.String(), "account": b.Account.String(), "state": b.State(c.now()), "level": b.Level, "started_at": b.StartedAt, "ends_at": b.EndsAt,
		"early_retries": b.EarlyRetries, "lifted_at": moment(b.LiftedAt), "lifted_by": orNull(b.LiftedBy),
	}
}

// orNull returns who did something; nil for nobody.
func orNull(a petcat.Actor) any {
	if a == "" {
		return nil
	}
	return a
}

// listBans lists the bans in force.
func listBans(c *call) (any, error) {
	q := petcat.BanQuery{Active: c.now()}
	return listed(c, "key", c.showBan, func(after string, limit int) (_ []petcat.Ban, err error) {
		if after != "" {
			if q.After, err = petcat.ParseKeyID(after); err != nil {
				return nil, err
			}
		}
		q.Limit = limit
		return c.Store.BanPage(c.r.Context(), q)
	})
}

func getBan(c *call, k petcat.Key) (any, error) {
	page, err := c.Store.BanPage(c.r.Context(), petcat.BanQuery{After: k.ID - 1, Limit: 1})
	if err == nil && (len(page) == 0 || page[0].Key != k.ID) {
		err = petcat.Errorf(petcat.CodeNotFound, "the key %s was never banned", k.ID)
	}
	if err != nil {
		return nil, err
	}
	return c.showBan(page[0]), nil
}

func liftBan(c *call, k petcat.Key) (any, error) {
	b, err := c.Store.LiftBan(c.r.Context(), c.actor(), k.ID)
	return c.showBan(b), err
}

func listPlans(*call) (any, error) {
	var all []object
	for _, p := range petcat.Plans() {
		shown := object{"plan": p, "per_minute": nil, "per_day": nil} // null: agreed for each account
		if q, published := p.Quota(); published {
			shown["per_minute"], shown["per_day"] = q.PerMinute, q.PerDay
		}
		all = append(all, shown)
	}
	return all, nil
}

func showPlanRequest(r petcat.PlanRequest) object {
	return object{
		"id": r.ID, "account": r.Account.String(), "plan": r.Plan, "note": r.Note, "state": r.State, "created_at": r.CreatedAt,
		"decided_at": moment(r.DecidedAt), "decided_by": orNull(r.DecidedBy),
	}
}

// listPlanRequests lists the requests that wait for a decision.
func listPlanRequests(c *call) (any, error) {
	return listed(c, "id", showPlanRequest, func(after string, limit int) ([]petcat.PlanRequest, error) {
		before, err := number(after)
		if err != nil {
			return nil, err
		}
		q := petcat.PlanRequestQuery{State: petcat.PlanRequestPending, Before: petcat.PlanRequestID(before), Limit: limit}
		return c.Store.PlanRequests(c.r.Context(), q)
	})
}

// planRequest finds the id of the path.
func planRequest(c *call) (petcat.PlanRequestID, error) {
	id, err := number(c.r.PathValue("id"))
	return petcat.PlanRequestID(id), err
}

// numbersJSON are what enterprise needs.
type numbersJSON struct {
	PerMinute int64 `json:"per_minute"`
	PerDay    int64 `json:"per_day"`
}

func approve(c *call, id petcat.PlanRequestID, body numbersJSON) (any, error) {
	r, err := c.Store.ApprovePlanRequest(c.r.Context(), c.actor(), id, body.PerMinute, body.PerDay)
	return showPlanRequest(r), err
}

func decline(c *call, id petcat.PlanRequestID) (any, error) {
	r, err := c.Store.DeclinePlanRequest(c.r.Context(), c.actor(), id)
	return showPlanRequest(r), err
}

func listNodes(c *call) (any, error) {
	nodes, err := c.Store.Nodes(c.r.Context())
	shown := make([]object, len(nodes))
	for i, n := range nodes {
		shown[i] = object{"label": n.Label, "version": n.Version, "state": n.State, "since": n.Since, "drained": n.Drained}
	}
	return shown, err
}

func drain(drained bool) operation {
	return func(c *call) (any, error) {
		label := c.r.PathValue("label")
		err := c.Store.DrainNode(c.r.Context(), c.actor(), label, drained)
		return object{"label": label, "drained": drained}, err
	}
}

// listAudit lists the audit log, the newest entry first.
func listAudit(c *call) (any, error) {
	show := func(e petcat.AuditEntry) object {
		return object{
			"sequence": e.Sequence, "at": e.At, "actor": e.Actor, "action": e.Action, "subject": e.Subject, "detail": jsontext.Value(e.Detail),
			"hash": hex.EncodeToString(e.Hash[:]),
		}
	}
	return listed(c, "sequence", show, func(after string, limit int) (page []petcat.AuditEntry, err error) {
		before, err := number(after)
		if err != nil {
			return nil, err
		}
		q := petcat.AuditQuery{Before: before, Newest: limit}
		err = c.Store.EachAuditEntry(c.r.Context(), q, func(e petcat.AuditEntry) error {
			page = append(page, e)
			return nil
		})
		slices.Reverse(page)
		return page, err
	})
}

// listBackups lists the last scheduled backup that was verified, if there was one.
func listBackups(c *call) (any, error) {
	last, err := c.LastBackup(c.r.Context())
	if last == nil || err != nil {
		return []any{}, err
	}
	return []any{last}, nil
}
