package main

import (
	"context"
	"fmt"
	"strconv"

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
		p.keyCreateCommand(),
		p.keyListCommand(),
		p.keyFindCommand(),
		p.keyRotateCommand(),
		p.keyChangeCommand(petcat.DisableKey, "Disable a key until it is enabled again"),
		p.keyChangeCommand(petcat.EnableKey, "Enable a key that was disabled"),
		p.keyChangeCommand(petcat.RevokeKey, "Permanently revoke a key"),
	)
}

func (p *program) keyCreateCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "create ACCOUNT",
		Short: "Create an API key and show it once",
		Example: `  petcat key create acme --label ci --expires 90d
  petcat key create acme --label dashboard --read-only
  petcat key create acme --expires 2027-01-31 --json`,
		Args: arguments("ACCOUNT"),
	}
	registerStoreFlags(cmd)
	asJSON := jsonFlag(cmd)
	label := cmd.Flags().String("label", "", "`note` that distinguishes the key from others")
	expires := cmd.Flags().String("expires", "", "`when` the key ends: after a time (90d), on a day (2027-01-31, from its beginning in UTC), or at an instant (RFC 3339); default never")
	readOnly := cmd.Flags().Bool("read-only", false, "refuse every request of the key that would change something; cannot be changed later")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		terms := petcat.KeyTerms{Label: *label, ReadOnly: *readOnly}
		if cmd.Flags().Changed("expires") {
			var err error
			if terms.ExpiresAt, err = parseExpiry(*expires, p.now()); err != nil {
				return usageErrorf("--expires %v", err)
			}
			// The domain checks this too, but it takes the zero time, which the user can
			// type as 0001-01-01, for never.
			if !terms.ExpiresAt.After(p.now()) {
				return usageErrorf("the expiry must be in the future (got %s)", timestamp(terms.ExpiresAt))
			}
		}
		return p.changeStore(cmd, func(ctx context.Context, st store) error {
			a, err := findAccount(ctx, st, args[0])
			if err != nil {
				return err
			}
			generated, err := petcat.GenerateKey(st.Environment(), p.random)
			if err != nil {
				return err
			}
			asked, err := petcat.ParseNewKey(a.ID, terms, p.now(), generated)
			if err != nil {
				return usage(err)
			}
			k, err := st.CreateKey(ctx, actor(), asked)
			if err != nil {
				return unsure(err, exitFailed, "a key may have been created whose secret nobody knows; check with: petcat key list %s, and revoke it with: petcat key revoke KEY_ID", a.ID)
			}
			return p.printNewKey(newKey{key: k, secret: generated.Secret, accountName: a.Name}, *asJSON)
		})
	}
	return cmd
}

func (p *program) keyListCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "list [ACCOUNT]",
		Short: "List the keys of an account, or of all, and when each was last used",
		Args:  arguments("[ACCOUNT]"),
	}
	registerStoreFlags(cmd)
	asJSON := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return p.withStore(cmd, func(ctx context.Context, st store) error {
			var account petcat.AccountID // 0: all
			if len(args) == 1 {
				a, err := findAccount(ctx, st, args[0])
				if err != nil {
					return err
				}
				account = a.ID
			}
			keys, err := keysOf(ctx, st, account)
			if err != nil {
				return err
			}
			uses, err := usesOf(ctx, st, keys)
			if err != nil {
				return err
			}
			if *asJSON {
				return p.printJSON(p.keyDocuments(keys, uses))
			}
			names, err := accountNames(ctx, st)
			if err != nil {
				return err
			}
			return p.printKeys(keys, names, uses)
		})
	}
	return cmd
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
the old key is.`,
		Args: arguments("KEY_ID"),
	}
	registerStoreFlags(cmd)
	asJSON := jsonFlag(cmd)
	overlap := cmd.Flags().String("overlap", defaultOverlap, "`time` that both keys work: 0 to 30d")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		id, err := parseKeyID(args[0])
		if err != nil {
			return err
		}
		span, err := config.ParseDuration(*overlap)
		if err != nil {
			return usageErrorf("--overlap %v", err)
		}
		return p.changeStore(cmd, func(ctx context.Context, st store) error {
			generated, err := petcat.GenerateKey(st.Environment(), p.random)
			if err != nil {
				return err
			}
			asked, err := petcat.ParseRotation(id, span, generated)
			if err != nil {
				return usage(err)
			}
			k, err := st.RotateKey(ctx, actor(), asked)
			if err != nil {
				return unsure(noSuchKey(err), exitFailed, "%s may have been replaced by a key whose secret nobody knows; check with: petcat key list, and rotate that key in its place", id)
			}
			return p.printRotated(ctx, st, newKey{key: k, secret: generated.Secret, replaces: id}, *asJSON)
		})
	}
	return cmd
}

// printRotated prints the new key, with the name of its account and the end of the old key
// if they can be read. Its secret exists nowhere else, so errors of those reads are ignored.
func (p *program) printRotated(ctx context.Context, st store, k newKey, asJSON bool) error {
	if old, err := st.FindKey(ctx, k.replaces); err == nil {
		k.replacedUntil = old.ExpiresAt
	}
	if a, err := st.FindAccount(ctx, k.key.Account.String()); err == nil {
		k.accountName = a.Name
	}
	return p.printNewKey(k, asJSON)
}

// keyChangeCommand returns the command of a [petcat.KeyAction]. Both have the same name.
func (p *program) keyChangeCommand(action petcat.KeyAction, short string) *cobra.Command {
	cmd := &cobra.Command{
		Use:   string(action) + " KEY_ID",
		Short: short,
		Args:  arguments("KEY_ID"),
	}
	registerStoreFlags(cmd)
	asJSON, yes := jsonFlag(cmd), new(bool)
	if action == petcat.RevokeKey {
		yes = yesFlag(cmd)
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		id, err := parseKeyID(args[0])
		if err != nil {
			return err
		}
		return p.changeStore(cmd, func(ctx context.Context, st store) error {
			if action == petcat.RevokeKey {
				if err := p.confirm(*yes, fmt.Sprintf("Permanently revoke %s?", id)); err != nil {
					return err
				}
			}
			k, err := st.ChangeKey(ctx, actor(), id, action)
			if err != nil {
				return unsure(noSuchKey(err), exitTryLater, "%s may have been %sd; check with: petcat key list, or run the command again", id, action)
			}
			if *asJSON {
				return p.printJSON(keyDocument(k, p.now()))
			}
			return p.say("%s is %s.", k.ID, k.State(p.now()))
		})
	}
	return cmd
}

func noSuchKey(err error) error { return notFound(err, "list the keys with: petcat key list") }

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
