package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"petcat"
	"petcat/client"
)

func (p *program) categoryCommand() *cobra.Command {
	return parent(&cobra.Command{
		Use:     "category",
		Short:   "List, create, change, import and export categories through the API",
		GroupID: groupUse,
		Long: `List, create, change, import and export categories through the API of a running
service, as any other client does: with an API key, and within its limits. The key is
read from PETCAT_API_KEY, or from the file that PETCAT_API_KEY_FILE names; the URL is
that of --url or PETCAT_URL. No data directory is needed.`,
		Example: `  export PETCAT_API_KEY=pck_live_...
  petcat category create Ferrets --description "Domestic ferrets" --url https://petcat.example.com
  petcat category import categories.csv`,
	},
		p.categoryListCommand(),
		p.categoryGetCommand(),
		p.categoryCreateCommand(),
		p.categoryUpdateCommand(),
		p.categoryDeleteCommand(),
		p.categoryImportCommand(),
		p.categoryExportCommand(),
	)
}

func (p *program) categoryListCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the categories",
		Long: `List all categories, or one page of them: at most --limit categories, after the id
--after. The command sends one request, however many categories there are. To work with
the list in other programs, see petcat category export.`,
		Args: arguments(),
	}
	api, asJSON := p.apiFlags(cmd), jsonFlag(cmd)
	limit := cmd.Flags().Int("limit", 0, fmt.Sprintf("the most categories to list, 1 to %[1]d; default all, with --after %[1]d", petcat.MaxPage))
	after := cmd.Flags().Int64("after", 0, "`id` after which the list begins")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if cmd.Flags().Changed("limit") && (*limit < 1 || *limit > petcat.MaxPage) {
			return usageErrorf("--limit must be from 1 to %d", petcat.MaxPage)
		}
		none := "There are no categories; create one with: petcat category create NAME"
		if *after > 0 {
			none = fmt.Sprintf("No category follows the id %d.", *after)
		}
		return api.call(cmd.Context(), func(ctx context.Context, c *client.Client) error {
			if !cmd.Flags().Changed("limit") && !cmd.Flags().Changed("after") {
				list, err := c.Categories.List(ctx)
				return p.printCategories(list, err, *asJSON, none)
			}
			for page, err := range c.Categories.Pages(ctx, client.Paging{Limit: *limit, After: *after}) {
				return p.printCategories(page, err, *asJSON, none)
			}
			return nil
		})
	}
	return cmd
}

func (p *program) categoryGetCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "get ID",
		Short: "Show one category, with its ETag",
		Args:  arguments("ID"),
	}
	api, asJSON := p.apiFlags(cmd), jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		id, err := parseCategoryID(args[0])
		if err != nil {
			return err
		}
		return api.call(cmd.Context(), func(ctx context.Context, c *client.Client) error {
			found, err := c.Categories.Get(ctx, id)
			return p.printCategory(found, err, *asJSON)
		})
	}
	return cmd
}

func (p *program) categoryCreateCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "create NAME",
		Short: "Create a category",
		Long: `Create a category. Names need not be unique. Within 24 hours, the command with the
same --idempotency-key, name and description returns the same category again; without
one, each command creates another category.`,
		Example: `  petcat category create Ferrets --description "Domestic ferrets"`,
		Args:    arguments("NAME"),
	}
	api, asJSON := p.apiFlags(cmd), jsonFlag(cmd)
	n := client.NewCategory{}
	cmd.Flags().StringVar(&n.Description, "description", "", "`text` that describes the category")
	cmd.Flags().StringVar(&n.IdempotencyKey, "idempotency-key", "", "`name` of this create, 1 to 255 visible ASCII characters; default a random one")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if n.Name = args[0]; n.IdempotencyKey == "" {
			n.IdempotencyKey = rand.Text()
		}
		return api.call(cmd.Context(), func(ctx context.Context, c *client.Client) error {
			created, err := c.Categories.Create(ctx, n)
			if errors.Is(err, client.ErrOutcomeUnknown) {
				err = fmt.Errorf("%w; run the command again with --idempotency-key %s: it creates nothing twice", err, n.IdempotencyKey)
			}
			return p.printCategory(created, err, *asJSON)
		})
	}
	return cmd
}

func (p *program) categoryUpdateCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "update ID",
		Short: "Change the name or the description of a category",
		Long: `Change the name or the description of a category; one that is not given stays. Only the
account that created a category may change it. With --if-match, nothing is changed if
somebody else has changed the category since petcat category get showed that ETag.`,
		Example: `  petcat category update 17 --name Ferrets --description ""
  petcat category update 17 --name Ferrets --if-match "$(petcat category get 17 --json | jq -r .etag)"`,
		Args: arguments("ID"),
	}
	api, asJSON := p.apiFlags(cmd), jsonFlag(cmd)
	name := cmd.Flags().String("name", "", "the new `name`")
	description := cmd.Flags().String("description", "", "the new `text`; an empty one removes it")
	change := client.CategoryChange{}
	cmd.Flags().StringVar(&change.IfMatch, "if-match", "", "`ETag` that the category must have")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		id, err := parseCategoryID(args[0])
		if err != nil {
			return err
		}
		if cmd.Flags().Changed("name") {
			change.Name = name
		}
		if cmd.Flags().Changed("description") {
			change.Description = description
		}
		if change.Name == nil && change.Description == nil {
			return usageErrorf("there is nothing to change; give --name, --description or both")
		}
		return api.call(cmd.Context(), func(ctx context.Context, c *client.Client) error {
			changed, err := c.Categories.Update(ctx, id, change)
			if errors.Is(err, client.ErrOutcomeUnknown) {
				err = fmt.Errorf("%w; check with: petcat category get %d", err, id)
			}
			return p.printCategory(changed, err, *asJSON)
		})
	}
	return cmd
}

func (p *program) categoryDeleteCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "delete ID",
		Short: "Delete a category",
		Long: `Delete a category. Only the account that created a category may delete it, and only
while no pet uses it.`,
		Args: arguments("ID"),
	}
	api, asJSON, yes := p.apiFlags(cmd), jsonFlag(cmd), yesFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		id, err := parseCategoryID(args[0])
		if err != nil {
			return err
		}
		return api.call(cmd.Context(), func(ctx context.Context, c *client.Client) error {
			if err := p.deleteCategory(ctx, c, id, *yes); err != nil {
				return err
			}
			if *asJSON {
				return p.printJSON(struct {
					ID      int64 `json:"id"`
					Deleted bool  `json:"deleted"`
				}{id, true})
			}
			return p.say("Category %d is deleted.", id)
		})
	}
	return cmd
}

// deleteCategory deletes a category. At a terminal it asks for a confirmation that shows the
// name, because an id is easily mistyped, and deletes only what it has shown.
func (p *program) deleteCategory(ctx context.Context, c *client.Client, id int64, yes bool) error {
	question := ""
	remove := func() error { return c.Categories.Delete(ctx, id) }
	if !yes && p.isTerminal(p.stdin) {
		shown, err := c.Categories.Get(ctx, id)
		if err != nil {
			return err
		}
		question = fmt.Sprintf("Permanently delete category %d (%s)?", id, shown.Name)
		remove = func() error { return c.Categories.DeleteIfMatch(ctx, id, shown.ETag) }
	}
	if err := p.confirm(yes, question); err != nil {
		return err
	}
	err := remove()
	switch {
	case errors.Is(err, client.ErrOutcomeUnknown):
		return fmt.Errorf("%w; run the command again", err)
	case errors.Is(err, client.CodePreconditionFailed):
		return fmt.Errorf("category %d has changed since it was shown: %w; run the command again", id, err)
	default:
		return err
	}
}

func parseCategoryID(text string) (int64, error) {
	id, err := strconv.ParseInt(text, 10, 64)
	if err != nil || id < 1 {
		return 0, usageErrorf("%q is not the id of a category, which is a number such as 17; list them with: petcat category list", text)
	}
	return id, nil
}
