package storetest

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"petcat"
	"petcat/internal/store"
)

// testRefused looks for what is left of operations that are refused after they have
// written, beside others that are not, perhaps in the same group.
func testRefused(t *testing.T, open Open) {
	for name, refusal := range map[string]error{
		"by the domain":    petcat.Errorf(petcat.CodeInvalidField, "no"),
		"by a malfunction": errors.New("broken"),
	} {
		t.Run(name, func(t *testing.T) {
			f := start(t, open)
			zoo := f.account(t, "zoo")
			free := subscription(t, "free", 0, 0)
			const others = 12
			var all sync.WaitGroup
			for i := range others {
				all.Go(func() {
					err := f.Change(t.Context(), "be refused", func(tx *store.Tx) error {
						if _, err := tx.CreateAccount(operator, "lost", free); err != nil {
							return err
						}
						if _, err := tx.Exec(`UPDATE accounts SET name = 'renamed' WHERE id = ?`, int64(zoo.ID)); err != nil {
							return err
						}
						return refusal
					})
					if petcat.CodeOf(err) != petcat.CodeOf(refusal) {
						t.Errorf("what was to be refused: %v", err)
					}
				})
				all.Go(func() {
					if _, err := f.CreateAccount(t.Context(), operator, petcat.AccountName(fmt.Sprint("kept ", i)), free); err != nil {
						t.Errorf("create account: %v", err)
					}
				})
				all.Go(func() {
					if _, err := f.CreateCategory(t.Context(), petcat.CreateCategory{Account: zoo.ID, New: category(t, "Dogs", nil)}); err != nil {
						t.Errorf("create category: %v", err)
					}
				})
			}
			all.Wait()
			_, err := f.FindAccount(t.Context(), "lost")
			wantCode(t, err, petcat.CodeNotFound)
			found, err := f.FindAccount(t.Context(), "zoo")
			wantEqual(t, "the account that was changed", zoo, must(t, found, err))
			accounts := collect(t, func(fn func(petcat.Account) error) error { return f.EachAccount(t.Context(), fn) })
			wantEqual(t, "the last account's id", petcat.AccountID(others+1), accounts[len(accounts)-1].ID)
			entries := f.audit(t)
			wantEqual(t, "audit entries", others+1, len(entries))
			wantChain(t, entries)
			revision, err := f.Revision(t.Context())
			wantEqual(t, "the revision", petcat.Revision(2*others+1), must(t, revision, err))
		})
	}
}
