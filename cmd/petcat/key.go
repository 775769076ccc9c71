package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"petcat"
	"petcat/internal/config"
)

func (p *program) keyCommand() *cobra.Command {
	return parent(&cobra.Command{
		Use:     "key",
		Short:   "Create, list, find, rotate, disable, enable and revoke API keys",
		GroupID: groupManage,
		Long: `Create, list, find, rotate, disable, enable and revoke API keys. A key is shown once,
when it is created or rotated; only a hash of it is stored. KEY_ID is its id
(key_34, or 34), which is not secret. Running servers apply changes within a second.`,
	},
		p.keyCreateCommand(), p.keyListCommand(), p.keyFindCommand(), p.keyRotateCommand(),
		p.keyChangeCommand(petcat.DisableKey, "Disable a key until it is enabled again"),
		p.keyChangeCommand(petcat.EnableKey, "Enable a key that was disabled"),
		p.keyChangeCommand(petcat.RevokeKey, "Permanently revoke a key"),
	)
}

// keyRecord is a key without its secret.
func (p *program) keyRecord(k petcat.Key) record {
	var successor any
	if k.Successor != 0 {
		successor = k.Successor
	}
	return record{
		{"id", k.ID},
		{"account", k.Account},
		{"label", k.Label},
		{"hint", shown{k.Hint, "…" + k.Hint}},
		{"state", k.State(p.now())},
		{"read_only", k.ReadOnly},
		{"access", accessOf(k)},
		{"created_at", k.CreatedAt},
		{"expires_at", neverIfZero(k.ExpiresAt)},
		{"disabled_at", k.DisabledAt},
		{"revoked_at", k.RevokedAt},
		{"successor", successor},
	}
}

// accessOf returns what a key may do.
func accessOf(k petcat.Key) textOnly {
	if k.ReadOnly {
		return "read-only"
	}
	return "full"
}

// keys returns the keys of an account, or of all if it is 0.
func (c *call) keys(account petcat.AccountID) ([]record, error) {
	var keys []petcat.Key
	err := c.EachKey(c.ctx(), account, func(k petcat.Key) error {
		keys = append(keys, k)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return c.keyRecords(keys)
}

// keyRecords adds to each key the name of its account and when it was last used.
func (c *call) keyRecords(keys []petcat.Key) (records []record, err error) {
	if len(keys) == 0 {
		return nil, nil
	}
	account := petcat.AllAccounts
	if !slices.ContainsFunc(keys, func(k petcat.Key) bool { return k.Account != keys[0].Account }) {
		account = keys[0].Account
	}
	uses, err := c.KeyUses(c.ctx(), account)
	if err != nil {
		return nil, err
	}
	names := map[petcat.AccountID]string{}
	named := func(a petcat.Account) error {
		names[a.ID] = a.Name
		return nil
	}
	if account == petcat.AllAccounts {
		err = c.EachAccount(c.ctx(), named)
	} else if a, findErr := c.account(account.String()); findErr != nil {
		err = findErr
	} else {
		err = named(a)
	}
	for _, k := range keys {
		records = append(records, append(c.keyRecord(k), field{"name", textOnly(names[k.Account])}, field{"last_used_at", neverIfZero(uses[k.ID])}))
	}
	return records, err
}

func (c *call) listKeys(keys []record) error {
	return c.list(keys, "id account name label hint state access created_at expires_at successor last_used_at",
		"There are no keys yet; create one with: petcat key create ACCOUNT")
}

func (p *program) keyCreateCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "create ACCOUNT",
		Short: "Create an API key and show it once",
		Long: `Create an API key and show it once. If it cannot be printed, no key that works is left
behind, and the exit code is 75.`,
		Example: `  petcat key create acme --label ci --expires 90d
  petcat key create acme --label dashboard --read-only
  petcat key create acme --expires 2027-01-31 --json`,
	}
	label := cmd.Flags().String("label", "", "`note` that distinguishes the key from others")
	expires := cmd.Flags().String("expires", "", "`when` the key ends: after a time (90d), on a day (2027-01-31, from its beginning in UTC), or at an instant (RFC 3339); default never")
	readOnly := cmd.Flags().Bool("read-only", false, "refuse every request of the key that would change something; cannot be changed later")
	return p.managing(cmd, func(c *call) error {
		terms := petcat.KeyTerms{Label: *label, ReadOnly: *readOnly}
		if c.cmd.Flags().Changed("expires") {
			var err error
			if terms.ExpiresAt, err = parseTime(*expires, c.inFuture); err != nil {
				return usageErrorf("--expires %v", err)
			}
			if !terms.ExpiresAt.After(c.now()) { // the domain takes the zero time for never
				return usageErrorf("the expiry must be in the future (got %s)", timestamp(terms.ExpiresAt))
			}
		}
		if err := c.changeInSecret(); err != nil {
			return err
		}
		a, err := c.account(c.args[0])
		if err != nil {
			return err
		}
		k, secret, err := c.createKey(c.ctx(), c.store, a.ID, terms)
		if err != nil {
			return unsure(err, exitFailed, "a key may have been created whose secret nobody knows; check with: petcat key list %s, and revoke it with: petcat key revoke KEY_ID", a.ID)
		}
		return undoUnless(c.showKey(k, a.Name, secret, nil), func() error {
			_, err := c.ChangeKey(c.ctx(), actor(), k.ID, petcat.RevokeKey)
			return err
		}, fmt.Sprintf("revoke %s", k.ID))
	})
}

// createKey creates a key of an account, and returns its secret.
func (p *program) createKey(ctx context.Context, st interface {
	Environment() petcat.Environment
	CreateKey(ctx context.Context, by petcat.Actor, n petcat.NewKey) (petcat.Key, error)
}, account petcat.AccountID, terms petcat.KeyTerms,
) (petcat.Key, petcat.Secret, error) {
	generated, err := petcat.GenerateKey(st.Environment(), p.random)
	if err != nil {
		return petcat.Key{}, petcat.Secret{}, err
	}
	asked, err := petcat.ParseNewKey(account, terms, p.now(), generated)
	if err != nil {
		return petcat.Key{}, petcat.Secret{}, usage(err)
	}
	k, err := st.CreateKey(ctx, actor(), asked)
	return k, generated.Secret, err
}

// showKey prints a new key with its secret. replaced is the key that was rotated, nil for
// none.
func (c *call) showKey(k petcat.Key, account string, secret petcat.Secret, replaced *petcat.Key) error {
	if c.asJSON {
		r := append(c.keyRecord(k), record{{"key", secret.Reveal()}, {"replaces", nil}, {"replaced_until", nil}}...)
		if replaced != nil {
			r[len(r)-2].value, r[len(r)-1].value = replaced.ID, replaced.ExpiresAt
		}
		return c.show(r)
	}
	r := record{
		{"id", k.ID},
		{"account", fmt.Sprintf("%s (%s)", account, k.Account)},
		{"label", k.Label},
		{"access", accessOf(k)},
		{"expires_at", neverIfZero(k.ExpiresAt)},
	}
	if replaced != nil {
		r = append(r, field{"replaces", fmt.Sprintf("%s, which works until %s", replaced.ID, timestamp(replaced.ExpiresAt))})
	}
	return c.showAnd(append(r, field{"key", secret.Reveal()}), "Store the key now: it will not be shown again.")
}

func (p *program) keyListCommand() *cobra.Command {
	return p.reading(&cobra.Command{
		Use:   "list [ACCOUNT]",
		Short: "List the keys of an account, or of all, and when each was last used",
	}, func(c *call) error {
		account := petcat.AllAccounts
		if len(c.args) == 1 {
			a, err := c.account(c.args[0])
			if err != nil {
				return err
			}
			account = a.ID
		}
		keys, err := c.keys(account)
		if err != nil {
			return err
		}
		return c.listKeys(keys)
	})
}

// defaultOverlap gives the owner of a key a day to install the new one.
const defaultOverlap = "24h"

func (p *program) keyRotateCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "rotate KEY_ID",
		Short: "Replace a key with a new one; both work for a while",
		Long: `Replace a key with a new one, which is shown only once. Both work until the overlap
ends, and share the same counts; with --overlap 0 the old key stops working
immediately. The new key gets the old key's label and lifetime, and is read-only if
the old key is. If the new key cannot be printed, the old one stays as it is, and the
exit code is 75.`,
	}
	overlap := cmd.Flags().String("overlap", defaultOverlap, "`time` that both keys work: 0 to 30d")
	return p.managing(cmd, func(c *call) error {
		span, err := config.ParseDuration(*overlap)
		if err != nil {
			return usageErrorf("--overlap %v", err)
		}
		if err := c.changeInSecret(); err != nil {
			return err
		}
		id := c.keyID()
		old, err := c.FindKey(c.ctx(), id)
		if err != nil {
			return noSuchKey(err)
		}
		a, err := c.account(old.Account.String())
		if err != nil {
			return err
		}
		generated, err := petcat.GenerateKey(c.Environment(), c.random)
		if err != nil {
			return err
		}
		asked, err := petcat.ParseRotation(id, span, generated)
		if err != nil {
			return usage(err)
		}
		k, err := c.RotateKey(c.ctx(), actor(), asked)
		if err != nil {
			return unsure(noSuchKey(err), exitFailed, "%s may have been replaced by a key whose secret nobody knows; check with: petcat key list, and rotate that key in its place", id)
		}
		rotated, _, err := asked.Apply(old, k.CreatedAt)
		if err != nil { // another command changed the key meanwhile
			rotated = old
		}
		return undoUnless(c.showKey(k, a.Name, generated.Secret, &rotated), func() error {
			return c.UndoRotation(c.ctx(), actor(), old)
		}, fmt.Sprintf("rotate %s, whose secret replaces that of %s", k.ID, id))
	})
}

// keyChangeCommand returns the command of a [petcat.KeyAction]. Both have the same name.
func (p *program) keyChangeCommand(action petcat.KeyAction, short string) *cobra.Command {
	cmd := &cobra.Command{Use: string(action) + " KEY_ID", Short: short}
	yes := new(true)
	if action == petcat.RevokeKey {
		yes = yesFlag(cmd)
	}
	return p.changing(cmd, func(c *call) error {
		id := c.keyID()
		if err := c.confirm(*yes, "Permanently revoke %s?", id); err != nil {
			return err
		}
		k, err := c.ChangeKey(c.ctx(), actor(), id, action)
		return c.done(noSuchKey(err), c.keyRecord(k), "%s is %s.", k.ID, k.State(c.now()))
	})
}

func noSuchKey(err error) error { return notFound(err, "list the keys with: petcat key list") }

// keyID returns the first argument, which arguments has checked.
func (c *call) keyID() petcat.KeyID {
	id, _ := parseKeyID(c.args[0])
	return id
}

// parseKeyID reads the id of a key that the user typed: key_34, or only its number.
func parseKeyID(s string) (petcat.KeyID, error) {
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		s = petcat.KeyID(n).String()
	}
	id, err := petcat.ParseKeyID(s)
	if err != nil {
		return 0, usageErrorf("%s; list the ids with: petcat key list", explain(err))
	}
	return id, nil
}

// maxLeaked bounds what key find reads, in bytes: more than a log of one day.
const maxLeaked = 64 << 20

func (p *program) keyFindCommand() *cobra.Command {
	return p.managing(&cobra.Command{
		Use:   "find [HINT]",
		Short: "Find which key a leaked text or a hint belongs to",
		Long: `Find which key a leaked text belongs to. The text is read from standard input, and
may be anything that contains keys. A key is never an argument: other users and the
history of the shell would see it. HINT is what petcat key list shows of a key: the
four characters before its last six.`,
		Example: `  petcat key find < leaked.txt
  petcat key find 7kQz`,
	}, func(c *call) error {
		if len(c.args) == 1 {
			hint, err := petcat.ParseKeyHint(strings.TrimPrefix(c.args[0], "…"))
			if err != nil {
				return usageErrorf("%s; a key is read from standard input: petcat key find < FILE. A key that was typed here is in the history of the shell", explain(err))
			}
			return c.showHint(hint)
		}
		secrets, err := c.readLeaked()
		if err != nil {
			return err
		}
		return c.showLeaked(secrets)
	})
}

// readLeaked returns everything on standard input that looks like a key.
func (p *program) readLeaked() (secrets []petcat.Secret, err error) {
	var text string
	if p.isTerminal(p.stdin) {
		_, _ = fmt.Fprint(p.stderr, "Paste the key, then press Enter: ")
		text, err = readLine(p.stdin)
	} else {
		var all []byte
		all, err = io.ReadAll(io.LimitReader(p.stdin, maxLeaked+1))
		text = string(all)
	}
	switch {
	case err != nil:
		return nil, fmt.Errorf("read standard input: %w", err)
	case len(text) > maxLeaked:
		return nil, usageErrorf("standard input has more than %d MiB; pass less of it at a time", maxLeaked>>20)
	}
	if secrets = petcat.KeysIn(text); len(secrets) == 0 {
		return nil, errors.New("nothing on standard input looks like a key: pck_live_ or pck_test_, and 38 letters and digits")
	}
	return secrets, nil
}

// showHint shows the keys that have a hint.
func (c *call) showHint(hint string) error {
	if err := c.read(); err != nil {
		return err
	}
	var keys []petcat.Key
	err := c.EachKey(c.ctx(), petcat.AllAccounts, func(k petcat.Key) error {
		if k.Hint == hint {
			keys = append(keys, k)
		}
		return nil
	})
	if err == nil && len(keys) == 0 {
		err = errors.New("no key has this hint; list the keys with: petcat key list")
	}
	if err != nil {
		return err
	}
	return c.showFound(keys, 0)
}

// showLeaked shows the keys that have the secrets.
func (c *call) showLeaked(secrets []petcat.Secret) error {
	if err := c.read(); err != nil {
		return err
	}
	var hashes []petcat.KeyHash
	reason := "no such key was ever created here"
	for _, secret := range secrets {
		if h, err := petcat.ParseKey(c.Environment(), secret.Reveal()); err != nil {
			reason = explain(err)
		} else {
			hashes = append(hashes, h)
		}
	}
	holders, err := c.FindCredentials(c.ctx(), hashes)
	if err != nil {
		return err
	}
	var keys []petcat.Key
	for _, h := range hashes {
		if holder, found := holders[h]; found {
			keys = append(keys, holder.Key)
		}
	}
	if len(keys) == 0 {
		return fmt.Errorf("no key of this %s deployment is on standard input: %s", c.Environment(), reason)
	}
	return c.showFound(keys, len(secrets)-len(keys))
}

// showFound shows keys, how to end them, and how many others look like keys.
func (c *call) showFound(keys []petcat.Key, others int) error {
	records, err := c.keyRecords(keys)
	if err == nil {
		err = c.listKeys(records)
	}
	if err == nil && !c.asJSON {
		err = c.sayParagraph("End a key with: petcat key revoke %s", keys[0].ID)
	}
	if err == nil && !c.asJSON && others > 0 {
		err = c.say("Not of this %s deployment, although they look like keys: %d.", c.Environment(), others)
	}
	return err
}
