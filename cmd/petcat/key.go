package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/representation"
)

func (p *program) keyCommand() *cobra.Command {
	revoke := p.managing(&cobra.Command{
		Use:     "revoke KEY_ID",
		Short:   "Permanently revoke a key",
		Example: "  petcat key revoke key_34",
	}, revokeKey)
	yesFlag(revoke)
	return parent(&cobra.Command{
		Use:   "key",
		Short: "Create, find, edit, rotate, disable and revoke API keys",
		Long: `Create, find, edit, rotate, disable and revoke API keys. A key is shown once,
when it is created or rotated; only a hash of it is stored. KEY_ID is its id
(key_34, or 34), which is not secret. Running servers apply changes within a
second.`,
	},
		p.createKeyCommand(),
		p.managing(&cobra.Command{
			Use:     "list [ACCOUNT]",
			Short:   "List the keys of one account or all accounts, with their last use",
			Example: "  petcat key list acme",
		}, listKeys),
		p.managing(&cobra.Command{
			Use:     "show KEY_ID",
			Short:   "Show a key without its secret",
			Example: "  petcat key show key_34",
		}, showKey),
		p.findKeysCommand(),
		p.editKeyCommand(),
		p.rotateKeyCommand(),
		p.managing(&cobra.Command{
			Use:     "disable KEY_ID",
			Short:   "Disable a key until it is enabled again",
			Example: "  petcat key disable key_34",
		}, func(c *call) error { return c.changeKey(petcat.DisableKey) }),
		p.managing(&cobra.Command{
			Use:     "enable KEY_ID",
			Short:   "Enable a disabled key",
			Example: "  petcat key enable key_34",
		}, func(c *call) error { return c.changeKey(petcat.EnableKey) }),
		revoke,
	)
}

func (p *program) createKeyCommand() *cobra.Command {
	cmd := p.managing(&cobra.Command{
		Use:   "create ACCOUNT",
		Short: "Create an API key and show it once",
		Long: `Create an API key and show it once. If it cannot be printed, it is revoked, and
the exit code is 75.`,
		Example: `  petcat key create acme --label ci --expires 90d
  petcat key create acme --label dashboard --read-only
  petcat key create acme --expires 2027-01-31 --json
  petcat key create acme --networks 192.0.2.0/24,2001:db8::/32`,
	}, withAccount(createKey))
	cmd.Flags().String("label", "", "add this `note` to the key")
	expiresFlag(cmd)
	cmd.Flags().Bool("read-only", false,
		"let the key only read; cannot be changed later")
	cmd.Flags().String("networks", "", networksUsage)
	return cmd
}

func (p *program) rotateKeyCommand() *cobra.Command {
	cmd := p.managing(&cobra.Command{
		Use:     "rotate KEY_ID",
		Short:   "Replace a key with a new one; both work during the overlap",
		Example: "  petcat key rotate key_34 --overlap 7d",
		Long: `Replace a key with a new one, which is shown only once. Both work until the
overlap ends, and share their quotas; with --overlap 0, the old key stops
working immediately. The new key gets the old key's label, networks and
lifetime, and is read-only if the old key is. If the new key cannot be printed,
its secret is lost, and the exit code is 75: rotate the new key to get another
secret. The old key works until its overlap ends.`,
	}, rotateKey)
	cmd.Flags().String("overlap", "24h", "let both keys work for this `time`, from 0 to 30d")
	return cmd
}

func (p *program) findKeysCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "find [TEXT]",
		Short: "Find the keys in a leaked text, or with a hint",
		Long: `Find the keys that a text contains, or that have a hint: the four characters
before the last six of a key, which petcat key list shows. Without TEXT, the
text is read from stdin. Do not pass a key as an argument, which other users and
the shell's history could see.`,
		Example: `  petcat key find < leaked.txt
  petcat key find 7kQz`,
	}
	registerFlags(cmd, "data", "database")
	return p.printing(cmd, findKeys)
}

func (p *program) editKeyCommand() *cobra.Command {
	cmd := p.managing(&cobra.Command{
		Use:   "edit KEY_ID",
		Short: "Change the label, the expiry or the networks of a key",
		Long: `Change the label, expiry or networks of a key. A key that has expired works
again until its new expiry. The overlap of a rotated key can only be shortened.`,
		Example: `  petcat key edit key_3 --label backend
  petcat key edit key_3 --expires 90d
  petcat key edit key_3 --expires never
  petcat key edit key_3 --networks any`,
	}, editKey)
	cmd.Flags().String("label", "", "replace the note of the key by this `note`")
	cmd.Flags().String("expires", "",
		"set the `expiry`: after a duration (90d), on a day (2027-01-31, at 00:00 UTC), at an instant (RFC 3339), or never")
	cmd.Flags().String("networks", "", networksUsage+", or any")
	return cmd
}

// networksUsage is the help of --networks.
const networksUsage = "accept the key only from these `networks`, at most 16, such as 192.0.2.0/24,2001:db8::/32"

// anyNetwork is the value of --networks for a key that works everywhere.
const anyNetwork = "any"

// networks returns the networks of --networks.
func (c *call) networks() (petcat.Networks, error) {
	text := c.text("networks")
	if text == anyNetwork {
		return "", nil
	}
	networks, err := petcat.ReadNetworks(text)
	return networks, usage(err)
}

// keyRecord is the record of a key, without its secret.
func (p *program) keyRecord(k petcat.Key) record { return representation.Key(k, p.now()) }

// keysOf returns the keys of an account, or of all accounts if it is 0.
func (c *call) keysOf(account petcat.AccountID) ([]record, error) {
	keys, err := c.store.KeyPage(c.ctx(), petcat.KeyQuery{Account: account})
	if err != nil {
		return nil, err
	}
	slices.Reverse(keys) // oldest first
	return c.keyRecords(keys)
}

// keyRecords adds to each key the name of its account.
func (c *call) keyRecords(keys []petcat.Key) (records []record, err error) {
	if len(keys) == 0 {
		return nil, nil
	}
	account, names := keys[0].Account, map[petcat.AccountID]string{}
	named := func(a petcat.Account) error {
		names[a.ID] = a.Name
		return nil
	}
	if slices.ContainsFunc(keys, func(k petcat.Key) bool { return k.Account != account }) {
		err = c.store.EachAccount(c.ctx(), named)
	} else {
		var a petcat.Account
		a, err = c.account(account.String())
		_ = named(a)
	}
	if err != nil {
		return nil, err
	}
	for _, k := range keys {
		records = append(records, append(c.keyRecord(k), kv("account_name", names[k.Account])))
	}
	return records, nil
}

// listKeys prints the keys of an account, or a hint if there are none.
func (c *call) listKeys(keys []record, account string) error {
	const columns = "id account account_name label hint state read_only created_at expires_at successor last_used_at"
	return c.list(keys, columns, "There are no keys yet; create one with: petcat key create "+account)
}

func listKeys(c *call) error {
	account, ref := petcat.AllAccounts, "ACCOUNT"
	if len(c.args) == 1 {
		a, err := c.account(c.args[0])
		if err != nil {
			return err
		}
		account, ref = a.ID, a.ID.String()
	}
	keys, err := c.keysOf(account)
	if err != nil {
		return err
	}
	return c.listKeys(keys, ref)
}

func showKey(c *call) error {
	k, err := c.store.FindKey(c.ctx(), c.keyID())
	if err != nil {
		return err
	}
	records, err := c.keyRecords([]petcat.Key{k})
	if err != nil {
		return err
	}
	return c.show(records[0])
}

// keyID returns the first argument, which arguments has validated.
func (c *call) keyID() petcat.KeyID {
	id, _ := parseKeyID(c.args[0])
	return id
}

// parseKeyID parses the id of a key, such as key_34 or 34.
func parseKeyID(s string) (petcat.KeyID, error) {
	if n, isID := petcat.ParseID(s); isID {
		s = petcat.KeyID(n).String()
	}
	id, err := petcat.ParseKeyID(s)
	if err != nil {
		return 0, usageErrorf("%s; list the ids with: petcat key list", explain(err))
	}
	return id, nil
}

func createKey(c *call, a petcat.Account) error {
	expires, err := c.expiry()
	if err != nil {
		return err
	}
	networks, err := c.networks()
	if err != nil {
		return err
	}
	terms := petcat.KeyTerms{
		Label:     c.text("label"),
		ExpiresAt: expires,
		ReadOnly:  c.is("read-only"),
		Networks:  networks,
	}
	asked, secret, err := c.keys(c.store.Environment()).NewKey(a.ID, terms)
	if err != nil {
		return usage(err)
	}
	return c.showOnce(func() (secretive, error) {
		made, err := c.store.CreateKey(c.ctx(), petcat.By(actor()), asked)
		k := made.Value
		return secretive{
			record: append(c.keyRecord(k), kv("key", secret.Reveal())),
			sentence: fmt.Sprintf(
				"%s is a key of %s. Store it now: it will not be shown again.", k.ID, accountTitle(a)),
			secret: secret.Reveal(),
			undo: func() error {
				_, err := c.store.ChangeKey(c.ctx(), petcat.By(actor()), k.ID, petcat.RevokeKey)
				return err
			},
			remedy: fmt.Sprintf("revoke %s", k.ID),
		}, err
	})
}

func (p *program) keys(environment petcat.Environment) petcat.KeyGenerator {
	return petcat.KeyGenerator{Environment: environment, Random: p.random}
}

func expiresFlag(cmd *cobra.Command) {
	cmd.Flags().String("expires", "",
		"set the `expiry`: after a duration (90d), on a day (2027-01-31, at 00:00 UTC), or at an instant (RFC "+
			"3339); never by default")
}

// expiry returns the time of --expires, zero for never.
func (c *call) expiry() (time.Time, error) {
	expires, err := c.time("expires", c.inFuture)
	return expires, cmp.Or(err, usage(petcat.CheckExpiry(expires, c.now())))
}

// never is the value of --expires that removes the expiry.
const never = "never"

func editKey(c *call) error {
	var label *string
	if c.given("label") {
		label = new(c.text("label"))
	}
	var expires *time.Time
	if c.given("expires") {
		t, err := c.newExpiry()
		if err != nil {
			return err
		}
		expires = &t
	}
	var networks *petcat.Networks
	if c.given("networks") {
		n, err := c.networks()
		if err != nil {
			return err
		}
		networks = &n
	}
	if label == nil && expires == nil && networks == nil {
		return usageErrorf("petcat key edit needs --label, --expires or --networks")
	}
	edit, err := petcat.ParseKeyEdit(label, expires, networks)
	if err != nil {
		return usage(err)
	}
	edited, err := c.store.EditKey(c.ctx(), petcat.By(actor()), c.keyID(), edit)
	k := edited.Value
	return c.done(err, c.keyRecord(k), "%s has the label %q, %s and works %s.", k.ID, k.Label, expiryText(k), networksText(k))
}

// newExpiry returns the time of --expires, zero for never.
func (c *call) newExpiry() (time.Time, error) {
	if c.text("expires") == never {
		return time.Time{}, nil
	}
	return c.expiry()
}

// expiryText says when a key expires.
func expiryText(k petcat.Key) string {
	if k.ExpiresAt.IsZero() {
		return "never expires"
	}
	return "expires at " + timestamp(k.ExpiresAt)
}

// networksText says where a key works.
func networksText(k petcat.Key) string {
	if k.Networks == "" {
		return "everywhere"
	}
	return "in " + strings.Join(k.Networks.List(), ", ")
}

func rotateKey(c *call) error {
	overlap, err := c.duration("overlap")
	if err != nil {
		return err
	}
	old, err := c.store.FindKey(c.ctx(), c.keyID())
	if err != nil {
		return err
	}
	asked, secret, err := c.keys(c.store.Environment()).Rotation(old.ID, overlap)
	if err != nil {
		return usage(err)
	}
	return c.showOnce(func() (secretive, error) {
		made, err := c.store.RotateKey(c.ctx(), petcat.By(actor()), asked)
		if err != nil {
			return secretive{}, err
		}
		k, rotated := made.Value.New, made.Value.Old
		return secretive{
			record: append(c.keyRecord(k), record{
				kv("key", secret.Reveal()),
				kv("replaces", old.ID),
				kv("replaced_until", rotated.ExpiresAt),
			}...),
			sentence: fmt.Sprintf(
				"%s replaces %s, which works until %s. Store it now: it will not be shown again.",
				k.ID, old.ID, timestamp(rotated.ExpiresAt)),
			secret: secret.Reveal(),
			lost: fmt.Sprintf("%s was rotated and works until %s, and the secret of its successor %s is lost; "+
				"to get another secret, run: petcat key rotate %[3]s", old.ID, timestamp(rotated.ExpiresAt), k.ID),
		}, nil
	})
}

func revokeKey(c *call) error {
	k, err := c.store.FindKey(c.ctx(), c.keyID())
	if err != nil {
		return err
	}
	err = c.confirm(c.is("yes"), "Permanently revoke %s (%q) of %s in %s?",
		k.ID, k.Label, k.Account, place(c.settings))
	if err != nil {
		return err
	}
	return c.changeKey(petcat.RevokeKey)
}

func (c *call) changeKey(action petcat.KeyAction) error {
	changed, err := c.store.ChangeKey(c.ctx(), petcat.By(actor()), c.keyID(), action)
	k := changed.Value
	return c.done(err, c.keyRecord(k), "%s is %s.", k.ID, k.State(c.now()))
}

func findKeys(c *call) error {
	text, err := c.leaked()
	if err == nil {
		err = c.open(false)
	}
	if err != nil {
		return err
	}
	keys, tokens, err := c.secretsIn(strings.TrimSpace(text))
	if err != nil {
		return err
	}
	if len(keys) == 0 && len(tokens) == 0 {
		return fmt.Errorf("the text contains no key or token of this %s deployment, and is not the hint of one; "+
			"list the keys with: petcat key list", c.store.Environment())
	}
	found, err := c.keyRecords(keys)
	if err != nil {
		return err
	}
	if c.asJSON {
		return c.printJSON(record{
			kv("keys", emptyNotNull(found)),
			kv("tokens", emptyNotNull(recordsOf(tokens, c.tokenRecord))),
		})
	}
	if len(found) > 0 {
		err = c.listKeys(found, "")
	}
	if err == nil && len(tokens) > 0 {
		err = c.listTokens(tokens)
	}
	return err
}

// emptyNotNull returns records, which print as [] if there are none.
func emptyNotNull(r []record) []record { return append([]record{}, r...) }

// leaked returns the text to search. It may wait for a person, so the store is not open yet.
func (c *call) leaked() (text string, err error) {
	if len(c.args) == 1 {
		return c.args[0], nil
	}
	if c.isTerminal(c.stdin) {
		_, _ = fmt.Fprintln(c.stderr, "Paste the text, then press Enter and Ctrl-D:")
	}
	all, err := io.ReadAll(c.stdin)
	return string(all), err
}

// secretsIn returns the keys and tokens whose secrets a text contains, or with the text as their hint.
func (c *call) secretsIn(text string) (keys []petcat.Key, tokens []petcat.OperatorToken, err error) {
	if hint, err := petcat.ParseKeyHint(strings.TrimPrefix(text, "…")); err == nil {
		return c.withHint(hint)
	}
	leaked := petcat.FindLeaked(c.store.Environment(), text)
	if keys, err = c.store.FindKeys(c.ctx(), leaked.Keys); err != nil {
		return nil, nil, err
	}
	tokens, err = c.store.FindTokens(c.ctx(), leaked.Tokens)
	return keys, tokens, err
}

// withHint returns the keys and tokens with a hint.
func (c *call) withHint(hint string) (keys []petcat.Key, tokens []petcat.OperatorToken, err error) {
	keys, err = c.store.KeyPage(c.ctx(), petcat.KeyQuery{Hint: hint, Limit: petcat.MaxPage})
	if err != nil {
		return nil, nil, err
	}
	all, err := c.store.Tokens(c.ctx())
	return keys, petcat.TokensWithHint(all, hint), err
}
