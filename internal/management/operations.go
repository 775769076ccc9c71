package management

import (
	"cmp"
	"net/http"
	"slices"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"petcat"
	"petcat/internal/config"
	"petcat/internal/representation"
)

// account finds the account in the path.
func account(c *call) (petcat.Account, error) { return c.findAccount(c.r.PathValue("account")) }

// findAccount finds an account by id or name.
func (c *call) findAccount(ref string) (petcat.Account, error) {
	return c.Store.FindAccount(c.ctx(), ref)
}

func listAccounts(c *call) (any, error) {
	q := petcat.AccountQuery{Plan: petcat.Plan(c.query("plan"))}
	if q.Plan != "" && !slices.Contains(petcat.Plans(), q.Plan) {
		return nil, petcat.Errorf(petcat.CodeInvalidField, "plan must be free, pro, business or enterprise")
	}
	return listed(c, c.findAccount, func(last petcat.Account, limit int) ([]petcat.Account, error) {
		if c.r.URL.Query().Has("name") {
			return c.accountsNamed(c.query("name"), q.Plan, last.ID)
		}
		q.After, q.Limit = petcat.AccountCursor{Name: last.Name, ID: last.ID}, limit
		return c.Store.AccountPage(c.ctx(), q)
	})
}

// accountsNamed returns the account with a name if it is on the plan and is not the one after which
// the page begins. There is at most one: names are unique among open accounts.
func (c *call) accountsNamed(name string, plan petcat.Plan, after petcat.AccountID) ([]petcat.Account, error) {
	a, err := c.findAccount(name)
	if petcat.CodeOf(err) == petcat.CodeNotFound {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if a.Name != name || a.ID == after || plan != "" && plan != a.Plan {
		return nil, nil
	}
	return []petcat.Account{a}, nil
}

// accountJSON is a body about an account or its plan. Members that were not sent are nil.
type accountJSON struct {
	Name      *string `json:"name"`
	Plan      *string `json:"plan"`
	PerMinute *int64  `json:"per_minute"`
	PerDay    *int64  `json:"per_day"`
}

// parse validates the name, the plan and its quota of a new account.
func (b accountJSON) parse() (name petcat.AccountName, s petcat.Subscription, err error) {
	var none string
	var zero int64
	if name, err = petcat.ParseAccountName(*cmp.Or(b.Name, &none)); err != nil {
		return name, s, err
	}
	s, err = petcat.ParseSubscription(*cmp.Or(b.Plan, &none), *cmp.Or(b.PerMinute, &zero), *cmp.Or(b.PerDay, &zero))
	return name, s, err
}

// edit validates a change of an account. The store checks the plan together with the account.
func (b accountJSON) edit() (e petcat.AccountEdit, err error) {
	if b.Name != nil {
		name, err := petcat.ParseAccountName(*b.Name)
		if err != nil {
			return e, err
		}
		e.Name = &name
	}
	if b.Plan != nil || b.PerMinute != nil || b.PerDay != nil {
		e.Plan = &petcat.PlanEdit{Plan: (*petcat.Plan)(b.Plan), PerMinute: b.PerMinute, PerDay: b.PerDay}
	}
	return e, nil
}

func createAccount(c *call, _ struct{}, body accountJSON) (any, error) {
	name, subscription, err := body.parse()
	if err != nil {
		return nil, err
	}
	by, err := c.author(body)
	if err != nil {
		return nil, err
	}
	made, err := c.Store.CreateAccount(c.ctx(), by, name, subscription)
	if err != nil {
		return nil, err
	}
	c.created("/accounts/" + made.Value.ID.String())
	return answer(c, made)
}

func changeAccount(c *call, a petcat.Account, body accountJSON) (any, error) {
	edit, err := body.edit()
	if err != nil {
		return nil, err
	}
	edited, err := c.Store.EditAccount(c.ctx(), petcat.By(c.actor()), a.ID, edit)
	return edited.Value, err
}

func closeAccount(c *call, a petcat.Account) (any, error) {
	closed, err := c.Store.CloseAccount(c.ctx(), petcat.By(c.actor()), a.ID)
	return closed.Value, err
}

// createLink returns a one-time link to the customer's page. Its token is in the fragment, which
// browsers do not send. A replay has no URL: only the first response had the token of the stored link.
func createLink(c *call, a petcat.Account) (any, error) {
	if c.CustomerLink == nil {
		return nil, petcat.Errorf(petcat.CodeForbidden, "customer pages are off; start petcat with --customer-pages")
	}
	token, err := petcat.GenerateToken(c.Keys.Random)
	if err != nil {
		return nil, err
	}
	by, err := c.author(nil)
	if err != nil {
		return nil, err
	}
	made, err := c.Store.CreateLink(c.ctx(), by, petcat.Subject{Account: a.ID}, token.Hash)
	if err != nil {
		return nil, err
	}
	c.status = http.StatusCreated
	r := representation.Record{representation.KV("expires_at", made.Value.EndsAt)}
	if made.Replayed {
		c.replayed()
		return r, nil
	}
	return append(r, representation.KV("url", c.CustomerLink(token.Secret))), nil
}

func getUsage(c *call, a petcat.Account) (any, error) {
	q, err := c.usageQuery(a.ID, cmp.Or(petcat.UsageStep(c.query("by")), petcat.UsageByDay))
	if err != nil {
		return nil, err
	}
	h, err := c.Store.Usage(c.ctx(), q)
	return representation.Usage(a.ID, q, h), err
}

// usageQuery returns a usage query with the times in the request.
func (c *call) usageQuery(account petcat.AccountID, by petcat.UsageStep) (petcat.UsageQuery, error) {
	from, fromErr := c.time("from")
	to, toErr := c.time("to")
	q, err := petcat.ParseUsageQuery(account, by, from, to, c.now())
	return q, cmp.Or(fromErr, toErr, err)
}

func topUsage(c *call) (any, error) {
	by := cmp.Or(c.query("by"), "requests")
	if by != "requests" && by != "refused" {
		return nil, petcat.Errorf(petcat.CodeInvalidField, "by must be requests or refused")
	}
	q, err := c.usageQuery(petcat.AllAccounts, petcat.UsageByDay)
	if err != nil {
		return nil, err
	}
	limit, err := c.limit(20)
	if err != nil {
		return nil, err
	}
	return all(c.Store.TopAccounts(c.ctx(), petcat.TopQuery{From: q.From, To: q.To, ByRefused: by == "refused", Limit: limit}))
}

func listRefusals(c *call, a petcat.Account) (any, error) {
	return all(c.Store.Refusals(c.ctx(), a.ID))
}

// key finds the key in the path.
func key(c *call) (petcat.Key, error) { return c.findKey(c.r.PathValue("key")) }

func (c *call) findKey(text string) (petcat.Key, error) {
	id, err := petcat.ParseKeyID(text)
	if err != nil {
		return petcat.Key{}, err
	}
	return c.Store.FindKey(c.ctx(), id)
}

func listKeys(c *call, a petcat.Account) (any, error) {
	return c.listKeys(petcat.KeyQuery{Account: a.ID})
}

func (c *call) listKeys(q petcat.KeyQuery) (any, error) {
	return listed(c, petcat.ParseKeyID, func(before petcat.KeyID, limit int) ([]petcat.Key, error) {
		q.Before, q.Limit = before, limit
		return c.Store.KeyPage(c.ctx(), q)
	})
}

// findKeysByHint lists the keys with a hint.
func findKeysByHint(c *call) (any, error) {
	hint, err := petcat.ParseKeyHint(c.query("hint"))
	if err != nil {
		return nil, err
	}
	return c.listKeys(petcat.KeyQuery{Hint: hint})
}

type textJSON struct {
	Text string `json:"text"`
}

// findKeys lists the keys whose secrets a text contains, such as a leaked file.
func findKeys(c *call, _ struct{}, body textJSON) (any, error) {
	if body.Text == "" {
		return nil, petcat.Errorf(petcat.CodeMissingField, "text is required: whole keys, or a text that contains them")
	}
	hashes, _ := petcat.KeyHashesIn(c.Keys.Environment, body.Text)
	return all(c.Store.FindKeys(c.ctx(), hashes))
}

type newKeyJSON struct {
	Label     string    `json:"label"`
	ExpiresAt time.Time `json:"expires_at"`
	ReadOnly  bool      `json:"read_only"`
}

func createKey(c *call, a petcat.Account, body newKeyJSON) (any, error) {
	asked, secret, err := c.Keys.NewKey(a.ID, petcat.KeyTerms(body), c.now())
	if err != nil {
		return nil, err
	}
	by, err := c.author(body)
	if err != nil {
		return nil, err
	}
	made, err := c.Store.CreateKey(c.ctx(), by, asked)
	if err != nil {
		return nil, err
	}
	return c.newKey(made.Value, secret, made.Replayed), nil
}

type rotationJSON struct {
	Overlap string `json:"overlap"`
}

func rotateKey(c *call, k petcat.Key, body rotationJSON) (any, error) {
	overlap, err := config.ParseDuration(cmp.Or(body.Overlap, "24h"))
	if err != nil {
		return nil, petcat.Errorf(petcat.CodeInvalidField, "overlap %v", err)
	}
	rotation, secret, err := c.Keys.Rotation(k.ID, overlap)
	if err != nil {
		return nil, err
	}
	by, err := c.author(body)
	if err != nil {
		return nil, err
	}
	rotated, err := c.Store.RotateKey(c.ctx(), by, rotation)
	if err != nil {
		return nil, err
	}
	return c.newKey(rotated.Value.New, secret, rotated.Replayed), nil
}

// newKey returns the record of a created key with its secret. A replay has none: only the first
// response had the secret of the stored key.
func (c *call) newKey(k petcat.Key, secret petcat.Secret, replayed bool) representation.Record {
	c.created("/keys/" + k.ID.String())
	r := representation.Key(k, c.now())
	if replayed {
		c.replayed()
		return r
	}
	return append(r, representation.KV("key", secret.Reveal()))
}

// keyJSON is a change of a key. An expiry of null means never.
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
	edited, err := c.Store.EditKey(c.ctx(), petcat.By(c.actor()), k.ID, edit)
	return edited.Value, err
}

func act(action petcat.KeyAction) operation {
	return on(key, func(c *call, k petcat.Key) (any, error) {
		by, err := c.author(nil)
		if err != nil {
			return nil, err
		}
		changed, err := c.Store.ChangeKey(c.ctx(), by, k.ID, action)
		if err != nil {
			return nil, err
		}
		return answer(c, changed)
	})
}

// listBans lists the bans in force.
func listBans(c *call) (any, error) {
	return listed(c, petcat.ParseKeyID, func(after petcat.KeyID, limit int) ([]petcat.Ban, error) {
		return c.Store.BanPage(c.ctx(), petcat.BanQuery{Active: c.now(), After: after, Limit: limit})
	})
}

func getBan(c *call, k petcat.Key) (any, error) {
	page, err := c.Store.BanPage(c.ctx(), petcat.BanQuery{After: k.ID - 1, Limit: 1})
	if err == nil && (len(page) == 0 || page[0].Key != k.ID) {
		err = petcat.Errorf(petcat.CodeNotFound, "the key %s was never banned", k.ID)
	}
	if err != nil {
		return nil, err
	}
	return page[0], nil
}

func liftBan(c *call, k petcat.Key) (any, error) {
	lifted, err := c.Store.LiftBan(c.ctx(), petcat.By(c.actor()), k.ID)
	return lifted.Value, err
}

func listPlans(*call) (any, error) { return all(petcat.Plans(), nil) }

// listPlanRequests lists the pending requests.
func listPlanRequests(c *call) (any, error) {
	return listed(c, number, func(before petcat.PlanRequestID, limit int) ([]petcat.PlanRequest, error) {
		return c.Store.PlanRequests(c.ctx(), petcat.PlanRequestQuery{State: petcat.PlanRequestPending, Before: before, Limit: limit})
	})
}

// planRequest returns the id in the path.
func planRequest(c *call) (petcat.PlanRequestID, error) {
	return number[petcat.PlanRequestID](c.r.PathValue("id"))
}

// approvalJSON has the quotas of the Enterprise plan.
type approvalJSON struct {
	PerMinute int64 `json:"per_minute"`
	PerDay    int64 `json:"per_day"`
}

func approve(c *call, id petcat.PlanRequestID, body approvalJSON) (any, error) {
	by, err := c.author(body)
	if err != nil {
		return nil, err
	}
	approved, err := c.Store.ApprovePlanRequest(c.ctx(), by, petcat.PlanApproval{
		Request:   id,
		PerMinute: body.PerMinute,
		PerDay:    body.PerDay,
	})
	if err != nil {
		return nil, err
	}
	return answer(c, approved)
}

func decline(c *call, id petcat.PlanRequestID) (any, error) {
	by, err := c.author(nil)
	if err != nil {
		return nil, err
	}
	declined, err := c.Store.DeclinePlanRequest(c.ctx(), by, id)
	if err != nil {
		return nil, err
	}
	return answer(c, declined)
}

func listNodes(c *call) (any, error) { return all(c.Store.Nodes(c.ctx())) }

func drain(drained bool) operation {
	return func(c *call) (any, error) {
		by, err := c.author(nil)
		if err != nil {
			return nil, err
		}
		changed, err := c.Store.DrainNode(c.ctx(), by, c.r.PathValue("label"), drained)
		if err != nil {
			return nil, err
		}
		if changed.Replayed {
			c.replayed()
		}
		n := changed.Value
		return representation.Record{representation.KV("label", n.Label), representation.KV("drained", n.Drained)}, nil
	}
}

// listAudit lists the audit log, the newest entry first.
func listAudit(c *call) (any, error) {
	return listed(c, number[int64], func(before int64, limit int) (page []petcat.AuditEntry, err error) {
		err = c.Store.EachAuditEntry(c.ctx(), petcat.AuditQuery{Before: before, Newest: limit}, func(e petcat.AuditEntry) error {
			page = append(page, e)
			return nil
		})
		slices.Reverse(page)
		return page, err
	})
}
