package postgres

import (
	"fmt"
	"sync"
	"testing"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/pgtest"
	"github.com/petcat-api/petcat/internal/storetest"
)

func TestBehindPooler(t *testing.T) {
	url := server.Database(t)
	address, p := pgtest.StartPooler(t, url)
	pooled := pgtest.ByTCP(url, address)
	var nodes [2]*stored
	for i := range nodes {
		nodes[i] = openAt(t, pooled, Options{Serving: true}) // which migrates
		defer closeNow(t, nodes[i])
	}
	var wg sync.WaitGroup
	for client := range 12 {
		s := nodes[client%2]
		wg.Go(func() {
			for n := range 10 {
				key := petcat.IdempotencyKey(fmt.Sprintf("%d/%d", client/2, n)) // two clients each
				for {
					_, err := tryCreate(t.Context(), t, s, "Dogs", key)
					if err == nil {
						break
					}
					if petcat.CodeOf(err) != petcat.CodeIdempotencyInProgress {
						t.Errorf("create: %v", err)
						return
					}
				}
				if err := s.CategoriesSince(t.Context(), 0, func(petcat.RevisedCategory) error { return nil }); err != nil {
					t.Errorf("feed: %v", err)
				}
				if _, err := s.AccessChangesSince(t.Context(), 0); err != nil {
					t.Errorf("changes: %v", err)
				}
				_, err := s.Charge(t.Context(), oneCharge(1))
				for isState(err, "55P03") { // a lock timeout, on a busy machine
					_, err = s.Charge(t.Context(), oneCharge(1))
				}
				if err != nil {
					t.Errorf("charge: %v", err)
				}
			}
			if client == 0 {
				created, err := s.CreateAccount(t.Context(), petcat.By("cli:ada"), petcat.NewAccount{
					Name:         "zoo",
					Subscription: mustSubscription(t),
				})
				if err == nil {
					_, err = s.CloseAccount(t.Context(), petcat.By("cli:ada"), created.Value.ID)
				}
				if err != nil {
					t.Errorf("account: %v", err)
				}
			}
		})
	}
	wg.Wait()
	if got := len(storetest.Names(t, nodes[0])); got != 6*10 {
		t.Errorf("%d categories, want %d", got, 6*10)
	}
	if p.Switches() == 0 {
		t.Error("all transactions ran on one connection, so the test shows nothing")
	}
}

func mustSubscription(t *testing.T) petcat.Subscription {
	t.Helper()
	s, err := petcat.ParseSubscription("free", petcat.Quota{}, petcat.Storage{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}
