package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"petcat"
)

// maxLeaked bounds what key find reads, in bytes: more than a log of one day.
const maxLeaked = 64 << 20

func (p *program) keyFindCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "find [HINT]",
		Short: "Find which key a leaked text or a hint belongs to",
		Long: `Find which key a leaked text belongs to. The text is read from standard input, and
may be anything that contains keys. A key is never an argument: other users and the
history of the shell would see it. HINT is what petcat key list shows of a key: the
four characters before its last six.`,
		Example: `  petcat key find < leaked.txt
  petcat key find 7kQz`,
		Args: arguments("[HINT]"),
	}
	registerStoreFlags(cmd)
	asJSON := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 1 {
			hint, err := petcat.ParseKeyHint(strings.TrimPrefix(args[0], "…"))
			if err != nil {
				return usageErrorf("%s; a key is read from standard input: petcat key find < FILE. A key that was typed here is in the history of the shell", explain(err))
			}
			return p.withStore(cmd, func(ctx context.Context, st store) error {
				return p.findHint(ctx, st, hint, *asJSON)
			})
		}
		secrets, err := p.readLeaked()
		if err != nil {
			return err
		}
		return p.withStore(cmd, func(ctx context.Context, st store) error {
			return p.findSecrets(ctx, st, secrets, *asJSON)
		})
	}
	return cmd
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
		return nil, &failure{code: exitFailed, text: "nothing on standard input looks like a key: pck_live_ or pck_test_, and 38 letters and digits"}
	}
	return secrets, nil
}

func (p *program) findHint(ctx context.Context, st store, hint string, asJSON bool) error {
	keys, err := keysOf(ctx, st, 0)
	if err != nil {
		return err
	}
	keys = slices.DeleteFunc(keys, func(k petcat.Key) bool { return k.Hint != hint })
	if len(keys) == 0 {
		return &failure{code: exitFailed, text: "no key has this hint; list the keys with: petcat key list"}
	}
	names, err := accountNames(ctx, st)
	if err != nil {
		return err
	}
	return p.printFound(ctx, st, keys, names, asJSON)
}

func (p *program) findSecrets(ctx context.Context, st store, secrets []petcat.Secret, asJSON bool) error {
	var hashes []petcat.KeyHash
	var reason string
	for _, secret := range secrets {
		h, err := petcat.ParseKey(st.Environment(), secret.Reveal())
		if err != nil {
			reason = explain(err)
			continue
		}
		hashes = append(hashes, h)
	}
	holders, err := st.FindCredentials(ctx, hashes)
	if err != nil {
		return err
	}
	keys, names := []petcat.Key{}, map[petcat.AccountID]string{}
	for _, h := range hashes {
		if c, found := holders[h]; found {
			keys, names[c.Account.ID] = append(keys, c.Key), c.Account.Name
		}
	}
	if len(keys) == 0 {
		if reason == "" {
			reason = "no such key was ever created here"
		}
		return &failure{code: exitFailed, text: fmt.Sprintf("no key of this %s deployment is on standard input: %s", st.Environment(), reason)}
	}
	if err := p.printFound(ctx, st, keys, names, asJSON); err != nil || asJSON || len(keys) == len(secrets) {
		return err
	}
	return p.say("Not of this %s deployment, although they look like keys: %d.", st.Environment(), len(secrets)-len(keys))
}

// printFound shows keys, when they were last used, and how to end them.
func (p *program) printFound(ctx context.Context, st store, keys []petcat.Key, names map[petcat.AccountID]string, asJSON bool) error {
	uses, err := usesOf(ctx, st, keys)
	if err != nil {
		return err
	}
	if asJSON {
		return p.printJSON(p.keyDocuments(keys, uses))
	}
	if err := p.printKeys(keys, names, uses); err != nil {
		return err
	}
	return p.sayParagraph("End a key with: petcat key revoke %s", keys[0].ID)
}
