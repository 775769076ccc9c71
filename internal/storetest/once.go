package storetest

import (
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/store"
)

// once creates a resource of an account with an idempotency key. It returns the resource, such as a petcat.Pet.
type once func(s *store.Store, of petcat.AccountID, key petcat.IdempotencyKey) (created any, replayed bool, err error)

// onces are the creates of all operations, with category 1 and pet 1.
func onces(t *testing.T) map[string]once {
	t.Helper()
	pet := func(name string) once {
		return func(s *store.Store, of petcat.AccountID, key petcat.IdempotencyKey) (any, bool, error) {
			pet := petcat.CreatePet{Account: of, New: newPet(t, name, 1), IdempotencyKey: key}
			c, err := s.CreatePet(t.Context(), pet)
			return c.Pet, c.Replayed, err
		}
	}
	order := func(quantity int64) once {
		return func(s *store.Store, of petcat.AccountID, key petcat.IdempotencyKey) (any, bool, error) {
			order := petcat.CreateOrder{Account: of, New: newOrder(t, 1, quantity), IdempotencyKey: key}
			c, err := s.CreateOrder(t.Context(), order)
			return c.Order, c.Replayed, err
		}
	}
	return map[string]once{
		"a pet":         pet("Rex"),
		"another pet":   pet("Max"),
		"an order":      order(1),
		"another order": order(2),
		"a category": func(s *store.Store, of petcat.AccountID, key petcat.IdempotencyKey) (any, bool, error) {
			create := petcat.CreateCategory{
				Account:        of,
				New:            category(t, "Rex", nil),
				IdempotencyKey: key,
			}
			c, err := s.CreateCategory(t.Context(), create)
			return c.Category, c.Replayed, err
		},
	}
}

// testOnce: replays work for all operations, and a key belongs to one request of one operation.
func testOnce(t *testing.T, open Open) {
	for name, create := range onces(t) {
		t.Run(name, func(t *testing.T) {
			f := start(t, open)
			f.stock(t, 1)
			first, replayed, err := create(f.Store, 1, "k")
			wantEqual(t, "replayed", false, must(replayed, err))
			repeat := func(s *store.Store) {
				t.Helper()
				again, replayed, err := create(s, 1, "k")
				wantEqual(t, "replayed", true, must(replayed, err))
				wantEqual(t, "the replay", first, again)
			}
			repeat(f.Store)
			repeat(f.another(t))
			for other, another := range onces(t) {
				if other != name {
					_, _, err := another(f.Store, 1, "k")
					wantCode(t, err, petcat.CodeIdempotencyKeyReused)
				}
			}
			for _, fresh := range []struct {
				account petcat.AccountID
				key     petcat.IdempotencyKey
			}{{2, "k"}, {1, "K"}, {1, ""}, {1, ""}} {
				_, replayed, err := create(f.Store, fresh.account, fresh.key)
				wantEqual(t, "replayed", false, must(replayed, err))
			}
			f.age(t, petcat.IdempotencyRetention-time.Hour)
			f.clean(t)
			repeat(f.Store)
			f.age(t, time.Hour)
			f.clean(t)
			first, replayed, err = create(f.Store, 1, "k")
			wantEqual(t, "replayed after 24 hours", false, must(replayed, err))
			repeat(f.Store)
		})
		t.Run(name+", 16 times concurrently", func(t *testing.T) { testOnceInParallel(t, open, create) })
	}
}

func testOnceInParallel(t *testing.T, open Open, create once) {
	f := start(t, open)
	f.stock(t, 1)
	stores := []*store.Store{f.Store, f.another(t)}
	var fresh atomic.Int64
	var mu sync.Mutex
	seen := make(map[any]bool)
	var all sync.WaitGroup
	for i := range 16 {
		all.Go(func() {
			created, replayed, err := create(stores[i%2], 1, "k")
			for petcat.CodeOf(err) == petcat.CodeIdempotencyInProgress { // a client retries
				created, replayed, err = create(stores[i%2], 1, "k")
			}
			if err != nil {
				t.Errorf("create: %v", err)
			}
			if !replayed {
				fresh.Add(1)
			}
			mu.Lock()
			seen[created] = true
			mu.Unlock()
		})
	}
	all.Wait()
	wantEqual(t, "responses that were not replayed", int64(1), fresh.Load())
	wantEqual(t, "created resources", 1, len(seen))
}

// testManagedOnce: a failed change does not use up its idempotency key, which is forgotten after 24 hours.
func testManagedOnce(t *testing.T, open Open) {
	f := start(t, open)
	create := func(key, name string) (petcat.Result[petcat.Account], error) {
		author := must(petcat.ParseAuthor(operator, key, "account "+name))
		return f.CreateAccount(t.Context(), author, petcat.NewAccount{
			Name:         petcat.AccountName(name),
			Subscription: subscription(t, "free", 0, 0),
		})
	}
	must(create("k", "zoo"))
	_, err := create("l", "zoo")
	wantCode(t, err, petcat.CodeConflict)
	must(create("l", "aquarium"))
	f.age(t, petcat.IdempotencyRetention)
	f.clean(t)
	wantEqual(t, "replayed", false, must(create("k", "farm")).Replayed)
}

// testOnceOfOperators: operators may use the same idempotency key for categories and other changes.
func testOnceOfOperators(t *testing.T, open Open) {
	f := start(t, open)
	create := func(by petcat.Actor, name string) petcat.CreatedCategory {
		t.Helper()
		created, err := f.CreateCategory(t.Context(), petcat.CreateCategory{
			By:             by,
			New:            category(t, name, nil),
			IdempotencyKey: "k",
		})
		return must(created, err)
	}
	first := create("operator ada", "Dogs")
	second := create("operator bob", "Cats")
	wantEqual(t, "replayed", false, first.Replayed || second.Replayed)
	retry := petcat.CreatedCategory{Category: first.Category, Replayed: true}
	wantEqual(t, "the retry", retry, create("operator ada", "Dogs"))
	by := petcat.Author{Actor: "token ci", Key: "k", Request: "account zoo"}
	must(f.CreateAccount(t.Context(), by, petcat.NewAccount{
		Name:         "zoo",
		Subscription: subscription(t, "free", 0, 0),
	}))
	wantEqual(t, "audit entries", 3, len(f.audit(t)))
}

// managed makes a change of the data of [fixture.stage].
type managed func(t *testing.T, s *store.Store, by petcat.Author) (value any, replayed bool, err error)

// stage creates an account with a banned key and a pending plan request, another account, an
// operator with a session, a token, and a node.
func (f *fixture) stage(t *testing.T) {
	t.Helper()
	a := f.account(t, "zoo")
	f.account(t, "farm")
	k, _ := f.key(t, a.ID, 1)
	ban := petcat.Ban{
		Key:       k.ID,
		Account:   a.ID,
		Level:     1,
		StartedAt: noon,
		EndsAt:    noon.Add(time.Minute),
	}
	if err := f.SaveBan(t.Context(), ban); err != nil {
		t.Fatal(err)
	}
	asked := must(petcat.ParseNewPlanRequest(a.ID, "pro", "we grow"))
	must(f.RequestPlan(t.Context(), petcat.By(a.ID.Actor()), asked))
	f.operator(t, "cleo", "admin", token(1))
	must(f.SignIn(t.Context(), petcat.OperatorRealm, token(1), token(2)))
	ci := petcat.NewToken{Name: "ci", Role: petcat.RoleAdmin, Hash: token(3)}
	must(f.CreateToken(t.Context(), petcat.By(operator), ci))
	must(f.Heartbeat(t.Context(), petcat.Node{ID: "a", Label: "web", State: "ready"}))
	must(f.CreateWebhook(t.Context(), petcat.By(operator), newWebhook(t), petcat.NewSecret("whsec_YQ==")))
}

// own returns the seed of an author's secrets.
func own(by petcat.Author) byte { return byte(100 + len(by.Actor)) }

// manageds are the changes of all operations that have an author.
func manageds() map[string]managed {
	return map[string]managed{
		"create key": func(t *testing.T, s *store.Store, by petcat.Author) (any, bool, error) {
			t.Helper()
			n, _, err := generator(uint64(own(by))).NewKey(1, petcat.KeyTerms{})
			must(n, err)
			r, err := s.CreateKey(t.Context(), by, n)
			return r.Value, r.Replayed, err
		},
		"rotate key": func(t *testing.T, s *store.Store, by petcat.Author) (any, bool, error) {
			t.Helper()
			rotation, _, err := generator(8).Rotation(1, time.Hour)
			must(rotation, err)
			r, err := s.RotateKey(t.Context(), by, rotation)
			return r.Value, r.Replayed, err
		},
		"edit key": func(t *testing.T, s *store.Store, by petcat.Author) (any, bool, error) {
			t.Helper()
			label := "new"
			edit := must(petcat.ParseKeyEdit(&label, nil, nil))
			r, err := s.EditKey(t.Context(), by, 1, edit)
			return r.Value, r.Replayed, err
		},
		"revoke key": func(t *testing.T, s *store.Store, by petcat.Author) (any, bool, error) {
			t.Helper()
			r, err := s.ChangeKey(t.Context(), by, 1, petcat.RevokeKey)
			return r.Value, r.Replayed, err
		},
		"report leaked key": func(t *testing.T, s *store.Store, by petcat.Author) (any, bool, error) {
			t.Helper()
			r, err := s.ChangeKey(t.Context(), by, 1, petcat.ReportLeakedKey)
			return r.Value, r.Replayed, err
		},
		"purge account": func(t *testing.T, s *store.Store, by petcat.Author) (any, bool, error) {
			t.Helper()
			r, err := s.PurgeAccount(t.Context(), by, 1)
			return r.Value, r.Replayed, err
		},
		"create account": func(t *testing.T, s *store.Store, by petcat.Author) (any, bool, error) {
			t.Helper()
			r, err := s.CreateAccount(t.Context(), by, petcat.NewAccount{
				Name:         "shop",
				Subscription: subscription(t, "free", 0, 0),
			})
			return r.Value, r.Replayed, err
		},
		"edit account": func(t *testing.T, s *store.Store, by petcat.Author) (any, bool, error) {
			t.Helper()
			r, err := s.EditAccount(t.Context(), by, 1, petcat.EditName("shop"))
			return r.Value, r.Replayed, err
		},
		"change plan": func(t *testing.T, s *store.Store, by petcat.Author) (any, bool, error) {
			t.Helper()
			r, err := s.EditAccount(t.Context(), by, 1, petcat.EditPlan(subscription(t, "business", 0, 0)))
			return r.Value, r.Replayed, err
		},
		"close account": func(t *testing.T, s *store.Store, by petcat.Author) (any, bool, error) {
			t.Helper()
			r, err := s.CloseAccount(t.Context(), by, 1)
			return r.Value, r.Replayed, err
		},
		"request plan": func(t *testing.T, s *store.Store, by petcat.Author) (any, bool, error) {
			t.Helper()
			asked := must(petcat.ParseNewPlanRequest(2, "pro", ""))
			r, err := s.RequestPlan(t.Context(), by, asked)
			return r.Value, r.Replayed, err
		},
		"approve plan request": func(t *testing.T, s *store.Store, by petcat.Author) (any, bool, error) {
			t.Helper()
			r, err := s.ApprovePlanRequest(t.Context(), by, petcat.PlanApproval{Request: 1})
			return r.Value, r.Replayed, err
		},
		"decline plan request": func(t *testing.T, s *store.Store, by petcat.Author) (any, bool, error) {
			t.Helper()
			r, err := s.DeclinePlanRequest(t.Context(), by, 1)
			return r.Value, r.Replayed, err
		},
		"create operator": func(t *testing.T, s *store.Store, by petcat.Author) (any, bool, error) {
			t.Helper()
			r, err := s.CreateOperator(t.Context(), by, "dora", petcat.RoleViewer, token(10))
			return r.Value, r.Replayed, err
		},
		"remove operator": func(t *testing.T, s *store.Store, by petcat.Author) (any, bool, error) {
			t.Helper()
			r, err := s.RemoveOperator(t.Context(), by, "cleo")
			return r.Value, r.Replayed, err
		},
		"create token": func(t *testing.T, s *store.Store, by petcat.Author) (any, bool, error) {
			t.Helper()
			deploy := petcat.NewToken{Name: "deploy", Role: petcat.RoleViewer, Hash: token(own(by))}
			r, err := s.CreateToken(t.Context(), by, deploy)
			return r.Value, r.Replayed, err
		},
		"revoke token": func(t *testing.T, s *store.Store, by petcat.Author) (any, bool, error) {
			t.Helper()
			r, err := s.RevokeToken(t.Context(), by, "ci")
			return r.Value, r.Replayed, err
		},
		"create link of an operator": func(t *testing.T, s *store.Store, by petcat.Author) (any, bool, error) {
			t.Helper()
			r, err := s.CreateLink(t.Context(), by, petcat.Subject{Operator: "cleo"}, token(own(by)))
			return r.Value, r.Replayed, err
		},
		"create link of an account": func(t *testing.T, s *store.Store, by petcat.Author) (any, bool, error) {
			t.Helper()
			r, err := s.CreateLink(t.Context(), by, petcat.Subject{Account: 1}, token(own(by)))
			return r.Value, r.Replayed, err
		},
		"sign out everywhere": func(t *testing.T, s *store.Store, by petcat.Author) (any, bool, error) {
			t.Helper()
			r, err := s.SignOutEverywhere(t.Context(), by, petcat.Subject{Operator: "cleo"})
			return nil, r.Replayed, err // a retry does not end sessions
		},
		"drain node": func(t *testing.T, s *store.Store, by petcat.Author) (any, bool, error) {
			t.Helper()
			must(s.Heartbeat(t.Context(), petcat.Node{ID: "a", Label: "web", State: "ready"})) // it may be slow
			r, err := s.DrainNode(t.Context(), by, "web", true)
			return r.Value, r.Replayed, err
		},
		"set the log level": func(t *testing.T, s *store.Store, by petcat.Author) (any, bool, error) {
			t.Helper()
			r, err := s.SetLogLevel(t.Context(), by, slog.LevelDebug, noon.Add(time.Hour))
			return r.Value, r.Replayed, err
		},
		"create webhook": func(t *testing.T, s *store.Store, by petcat.Author) (any, bool, error) {
			t.Helper()
			r, err := s.CreateWebhook(t.Context(), by, newWebhook(t), petcat.NewSecret("whsec_Yg=="))
			return r.Value, r.Replayed, err
		},
		"rotate webhook": func(t *testing.T, s *store.Store, by petcat.Author) (any, bool, error) {
			t.Helper()
			rotation := petcat.WebhookRotation{Webhook: 1, Secret: petcat.NewSecret("whsec_Yw==")}
			r, err := s.RotateWebhook(t.Context(), by, rotation)
			return r.Value, r.Replayed, err
		},
		"test webhook": func(t *testing.T, s *store.Store, by petcat.Author) (any, bool, error) {
			t.Helper()
			r, err := s.TestWebhook(t.Context(), by, 1)
			return r.Value, r.Replayed, err
		},
		"disable webhook": func(t *testing.T, s *store.Store, by petcat.Author) (any, bool, error) {
			t.Helper()
			r, err := s.ChangeWebhook(t.Context(), by, 1, petcat.DisableWebhook)
			return r.Value, r.Replayed, err
		},
		"delete webhook": func(t *testing.T, s *store.Store, by petcat.Author) (any, bool, error) {
			t.Helper()
			r, err := s.DeleteWebhook(t.Context(), by, 1)
			return r.Value.ID, r.Replayed, err // the rest is gone
		},
		"lift ban": func(t *testing.T, s *store.Store, by petcat.Author) (any, bool, error) {
			t.Helper()
			r, err := s.LiftBan(t.Context(), by, 1)
			return r.Value, r.Replayed, err
		},
	}
}

// testManagedOnceAll: a change is made only with its audit entry. With an idempotency key it is made
// once. A retry returns the resource without a write, another request with the key is an error, and
// another actor may use the same key.
func testManagedOnceAll(t *testing.T, open Open) {
	for name, change := range manageds() {
		t.Run(name, func(t *testing.T) {
			f := start(t, open)
			f.stage(t)
			by := petcat.Author{Actor: operator, Key: "k", Request: name}
			f.run(t, `ALTER TABLE audit RENAME TO unknown`)
			if _, _, err := change(t, f.Store, by); err == nil {
				t.Error("it was made without an audit entry")
			}
			f.run(t, `ALTER TABLE unknown RENAME TO audit`)
			first, replayed, err := change(t, f.Store, by)
			wantEqual(t, "replayed", false, must(replayed, err))
			entries := f.audit(t)
			for _, s := range []*store.Store{f.Store, f.another(t)} {
				again, replayed, err := change(t, s, by)
				wantEqual(t, "replayed", true, must(replayed, err))
				wantEqual(t, "the retry", first, again)
			}
			other := by
			other.Request = "another"
			_, _, err = change(t, f.Store, other)
			wantCode(t, err, petcat.CodeIdempotencyKeyReused)
			wantEqual(t, "the audit log", entries, f.audit(t))

			other = by
			other.Actor = "operator bob"
			_, replayed, err = change(t, f.Store, other)
			if replayed || petcat.CodeOf(err) == petcat.CodeIdempotencyKeyReused {
				t.Errorf("another actor with the same key: replayed %t, %v", replayed, err)
			}
		})
	}
}
