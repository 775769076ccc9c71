package storetest

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/store"
)

// testRolledBack: operations that fail after writes leave no traces, even in a group
// with successful operations.
func testRolledBack(t *testing.T, open Open) {
	for name, rejection := range map[string]error{
		"domain error": petcat.Errorf(petcat.CodeInvalidField, "no"),
		"other error":  errors.New("broken"),
	} {
		t.Run(name, func(t *testing.T) {
			f := start(t, open)
			zoo := f.account(t, "zoo")
			free := subscription(t, "free", 0, 0)
			const others = 12
			var all sync.WaitGroup
			for i := range others {
				all.Go(func() {
					err := f.Change(t.Context(), "fail", func(tx *store.Tx) error {
						if _, err := tx.CreateAccount(operator, petcat.NewAccount{Name: "lost", Subscription: free}); err != nil {
							return err
						}
						const rename = `UPDATE accounts SET name = 'renamed' WHERE id = $1`
						if err := tx.Run(rename, int64(zoo.ID)); err != nil {
							return err
						}
						return rejection
					})
					if petcat.CodeOf(err) != petcat.CodeOf(rejection) {
						t.Errorf("got the error %v", err)
					}
				})
				all.Go(func() {
					name := petcat.AccountName(fmt.Sprint("kept ", i))
					if _, err := f.CreateAccount(t.Context(), petcat.By(operator), petcat.NewAccount{Name: name, Subscription: free}); err != nil {
						t.Errorf("create account: %v", err)
					}
				})
				all.Go(func() {
					dogs := petcat.CreateCategory{Account: zoo.ID, New: category(t, "Dogs", nil)}
					if _, err := f.CreateCategory(t.Context(), dogs); err != nil {
						t.Errorf("create category: %v", err)
					}
				})
			}
			all.Wait()
			_, err := f.FindAccount(t.Context(), "lost")
			wantCode(t, err, petcat.CodeNotFound)
			found := must(f.FindAccount(t.Context(), "zoo"))
			wantEqual(t, "the account that the failed operation changed", zoo, found)
			accounts := collect(t, func(fn func(petcat.Account) error) error { return f.EachAccount(t.Context(), fn) })
			wantEqual(t, "the last account's id", petcat.AccountID(others+1), accounts[len(accounts)-1].ID)
			entries := f.audit(t)
			wantEqual(t, "audit entries", others+1, len(entries))
			wantChain(t, entries)
			revision := must(f.Revision(t.Context()))
			wantEqual(t, "the revision", petcat.Revision(2*others+1), revision)
		})
	}
}
