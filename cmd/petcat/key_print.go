package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"petcat"
)

// keyJSON is a key as --json prints it. The secret is never in it.
type keyJSON struct {
	ID         string          `json:"id"`
	Account    string          `json:"account"`
	Label      string          `json:"label"`
	Hint       string          `json:"hint"`
	State      petcat.KeyState `json:"state"`
	ReadOnly   bool            `json:"read_only"`
	CreatedAt  string          `json:"created_at"`
	ExpiresAt  *string         `json:"expires_at"`
	DisabledAt *string         `json:"disabled_at"`
	RevokedAt  *string         `json:"revoked_at"`
	Successor  *string         `json:"successor"`
}

func keyDocument(k petcat.Key, now time.Time) keyJSON {
	document := keyJSON{
		ID: k.ID.String(), Account: k.Account.String(), Label: k.Label, Hint: k.Hint, State: k.State(now), ReadOnly: k.ReadOnly,
		CreatedAt: timestamp(k.CreatedAt), ExpiresAt: nullableTime(k.ExpiresAt),
		DisabledAt: nullableTime(k.DisabledAt), RevokedAt: nullableTime(k.RevokedAt),
	}
	if k.Successor != 0 {
		document.Successor = nullable(k.Successor.String())
	}
	return document
}

// usedKeyJSON is a key in a list, with its last use.
type usedKeyJSON struct {
	keyJSON
	LastUsedAt *string `json:"last_used_at"` // null: never
}

// keyUses is when keys were last used. Keys that were never used are not in it.
type keyUses map[petcat.KeyID]time.Time

// usesOf returns when keys were last used. It reads them in one query, so the result may
// contain other keys too.
func usesOf(ctx context.Context, st petcat.UsageStore, keys []petcat.Key) (keyUses, error) {
	if len(keys) == 0 {
		return keyUses{}, nil
	}
	account := keys[0].Account
	if slices.ContainsFunc(keys, func(k petcat.Key) bool { return k.Account != account }) {
		account = petcat.AllAccounts
	}
	return st.KeyUses(ctx, account)
}

func (p *program) keyDocuments(keys []petcat.Key, uses keyUses) []usedKeyJSON {
	documents := []usedKeyJSON{}
	for _, k := range keys {
		documents = append(documents, usedKeyJSON{keyDocument(k, p.now()), nullableTime(uses[k.ID])})
	}
	return documents
}

func (p *program) printKeys(keys []petcat.Key, names map[petcat.AccountID]string, uses keyUses) error {
	if len(keys) == 0 {
		return p.say("There are no keys yet; create one with: petcat key create ACCOUNT")
	}
	var rows [][]string
	for _, k := range keys {
		successor := "-"
		if k.Successor != 0 {
			successor = k.Successor.String()
		}
		rows = append(rows, []string{
			k.ID.String(), k.Account.String(), names[k.Account], k.Label, "…" + k.Hint, string(k.State(p.now())), accessOf(k),
			timestamp(k.CreatedAt), timestampOr(k.ExpiresAt, "never"), successor, timestampOr(uses[k.ID], "never"),
		})
	}
	return p.printTable([]string{"ID", "ACCOUNT", "NAME", "LABEL", "HINT", "STATE", "ACCESS", "CREATED", "EXPIRES", "SUCCESSOR", "LAST USED"}, rows)
}

// accessOf returns what a key may do, as tables show it.
func accessOf(k petcat.Key) string {
	if k.ReadOnly {
		return "read-only"
	}
	return "full"
}

// newKey is a key with its secret, which is printed once.
type newKey struct {
	key           petcat.Key
	secret        petcat.Secret
	accountName   string
	replaces      petcat.KeyID // 0: none
	replacedUntil time.Time
}

// newKeyJSON is a key with its secret, as key create and key rotate print it.
type newKeyJSON struct {
	keyJSON
	Key           string  `json:"key"`
	Replaces      *string `json:"replaces"`       // the id of the key that was rotated
	ReplacedUntil *string `json:"replaced_until"` // until when the rotated key still works
}

func (p *program) printNewKey(k newKey, asJSON bool) error {
	if err := p.printSecret(k, asJSON); err != nil {
		return fmt.Errorf("%s was created but could not be shown, so nobody can use it; revoke it: %w", k.key.ID, err)
	}
	return nil
}

func (p *program) printSecret(k newKey, asJSON bool) error {
	if asJSON {
		document := newKeyJSON{
			keyJSON: keyDocument(k.key, p.now()), Key: k.secret.Reveal(), ReplacedUntil: nullableTime(k.replacedUntil),
		}
		if k.replaces != 0 {
			document.Replaces = nullable(k.replaces.String())
		}
		return p.printJSON(document)
	}
	rows := [][]string{
		{"id", k.key.ID.String()},
		{"account", fmt.Sprintf("%s (%s)", k.accountName, k.key.Account)},
		{"label", k.key.Label},
		{"access", accessOf(k.key)},
		{"expires", timestampOr(k.key.ExpiresAt, "never")},
	}
	if k.replaces != 0 {
		rows = append(rows, []string{"replaces", fmt.Sprintf("%s, which works until %s", k.replaces, timestampOr(k.replacedUntil, "the overlap ends"))})
	}
	if err := p.printColumns(append(rows, []string{"key", k.secret.Reveal()})); err != nil {
		return err
	}
	return p.sayParagraph("Store the key now: it will not be shown again.")
}

func keysOf(ctx context.Context, st petcat.KeyStore, account petcat.AccountID) (keys []petcat.Key, err error) {
	err = st.EachKey(ctx, account, func(k petcat.Key) error {
		keys = append(keys, k)
		return nil
	})
	return keys, err
}

func accountNames(ctx context.Context, st petcat.AccountStore) (map[petcat.AccountID]string, error) {
	names := map[petcat.AccountID]string{}
	err := st.EachAccount(ctx, func(a petcat.Account) error {
		names[a.ID] = a.Name
		return nil
	})
	return names, err
}
