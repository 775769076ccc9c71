package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/petcat-api/petcat"
	client "github.com/petcat-api/petcat/client"
	"github.com/petcat-api/petcat/internal/config"
	"github.com/petcat-api/petcat/internal/representation"
)

func (p *program) categoryCommand() *cobra.Command {
	return parent(&cobra.Command{
		Use:   "category",
		Short: "Read, change, import and export categories through the API",
		Long: `Read, change, import and export categories through the API of a running service,
with an API key and within its limits, like any other client. The key is read
from PETCAT_API_KEY, or from the file in PETCAT_API_KEY_FILE; the URL from --url
or PETCAT_URL. No data directory is needed.`,
		Example: `  export PETCAT_API_KEY=pck_live_...
  petcat category create Ferrets --description "Domestic ferrets" --url https://petcat.example.com
  petcat category import categories.csv`,
	},
		p.categoryListCommand(), p.categoryGetCommand(), p.categoryCreateCommand(), p.categoryUpdateCommand(),
		p.categoryDeleteCommand(),
		p.categoryImportCommand(), p.categoryExportCommand(), p.categoryMirrorCommand(),
	)
}

// calling completes an interactive command that calls the service: its client gives up soon. The
// key is not a flag, because other users of the machine could see it.
func (p *program) calling(cmd *cobra.Command, run func(*call, *client.Client) error) *cobra.Command {
	urlFlag(cmd)
	return p.printing(cmd, func(c *call) error {
		api, service, err := c.dial(client.WithRetries(2), client.WithMaxWait(2*time.Second))
		if err != nil {
			return err
		}
		return explainAPI(run(c, api), service)
	})
}

func urlFlag(cmd *cobra.Command) {
	cmd.Flags().String("url", "", "call the service at this `URL` (PETCAT_URL, default "+config.DefaultServiceURL+")")
}

// dial returns a client of the service. It does not send a request.
func (c *call) dial(options ...client.Option) (*client.Client, config.Service, error) {
	service, err := config.LoadService(c.text("url"), c.environ)
	if err != nil {
		return nil, service, err
	}
	options = append(options, client.WithUserAgent("petcat/"+build().Version))
	api, err := client.New(service.URL, service.Key.Reveal(), options...)
	if err != nil {
		return nil, service, petcat.Unusablef(nil,
			"--url (PETCAT_URL) or PETCAT_API_KEY cannot be used: %s", apiText(err))
	}
	return api, service, nil
}

// explainAPI adds the remedy and an exit code to an error of the client. It returns other errors
// unchanged.
func explainAPI(err error, service config.Service) error {
	e, responded := errors.AsType[*client.Error](err)
	lost, failed := errors.AsType[*client.ConnectionError](err)
	switch {
	case err == nil, errors.Is(err, context.Canceled):
		return err
	case !responded && !failed && strings.HasPrefix(err.Error(), "petcat: "): // an invalid argument
		return &failure{code: exitUsage, text: apiText(err), cause: err}
	case !responded && !failed:
		return err
	}
	f := &failure{code: exitTryLater, text: apiText(err), cause: err}
	switch {
	case !responded && !errors.Is(err, client.ErrOutcomeUnknown):
		f.text = fmt.Sprintf(
			"no service responds at %s (%s); check --url (PETCAT_URL), or try again later",
			service.URL, strings.TrimPrefix(lost.Error(), "net/http: "))
	case !responded, e.Status >= http.StatusInternalServerError, e.NotSent:
	case e.Status == http.StatusTooManyRequests && e.RetryAfter == 0:
		f.text += "; try again later"
	case e.Status == http.StatusTooManyRequests:
		f.text += fmt.Sprintf("; try again in %s", e.RetryAfter)
	case e.Status == http.StatusUnauthorized:
		f.code = exitFailed
		f.text += "; put a valid key of this service into PETCAT_API_KEY"
	default:
		f.code = exitFailed
	}
	return f
}

// apiText returns the text of an error of the client without "petcat: ", with which every message
// of this program begins.
func apiText(err error) string { return strings.Replace(err.Error(), "petcat: ", "", 1) }

// categoryRecord is the record of a category. Categories in a list do not have ETags.
func categoryRecord(k client.Category) record {
	r := record{
		kv("id", k.ID),
		kv("name", k.Name),
		kv("description", shown(representation.OrNull(k.Description), k.Description)),
	}
	if k.ETag != "" {
		r = append(r, kv("etag", k.ETag))
	}
	return r
}

// showCategory prints the category that a call returned, or returns the call's error.
func (c *call) showCategory(k client.Category, err error) error {
	if err != nil {
		return err
	}
	return c.show(categoryRecord(k))
}

// shortened returns a text truncated to the width of a column.
func shortened(text string) string {
	const most = 60 // characters
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return text
}

func (p *program) categoryListCommand() *cobra.Command {
	return p.calling(&cobra.Command{
		Use:     "list",
		Short:   "List the categories",
		Example: "  petcat category list",
		Long: `List all categories, with one request. To process the list with other programs,
use petcat category export.`,
	}, func(c *call, api *client.Client) error {
		categories, _, err := api.Categories.List(c.ctx())
		if err != nil {
			return err
		}
		return c.list(recordsOf(categories, func(k client.Category) record {
			r := categoryRecord(k)
			r[1].Value = shown(k.Name, shortened(k.Name))
			r[2].Value = shown(representation.OrNull(k.Description), shortened(k.Description))
			return r
		}), "id name description", "There are no categories; create one with: petcat category create NAME")
	})
}

func (p *program) categoryGetCommand() *cobra.Command {
	return p.calling(&cobra.Command{
		Use:     "get ID",
		Short:   "Show a category and its ETag",
		Example: "  petcat category get 7",
	}, func(c *call, api *client.Client) error {
		found, _, err := api.Categories.Get(c.ctx(), c.categoryID())
		return c.showCategory(found, err)
	})
}

func (p *program) categoryCreateCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "create NAME",
		Short: "Create a category",
		Long: `Create a category. Names need not be unique. Repeating the command within 24
hours with the same --idempotency-key, name and description returns the same
category; without a key, each command creates another one.`,
		Example: `  petcat category create Ferrets --description "Domestic ferrets"`,
	}
	n := client.NewCategory{}
	cmd.Flags().StringVar(&n.Description, "description", "", "set the description to this `text`")
	key := cmd.Flags().String("idempotency-key", "",
		"identify this create by a `name` of 1 to 255 visible ASCII characters, random by default")
	return p.calling(cmd, func(c *call, api *client.Client) error {
		if n.Name = c.args[0]; *key == "" {
			*key = rand.Text()
		}
		created, _, err := api.Categories.Create(c.ctx(), n, client.WithIdempotencyKey(*key))
		if errors.Is(err, client.ErrOutcomeUnknown) {
			err = fmt.Errorf("%w; repeat the command with --idempotency-key %s, which does not create duplicates", err, *key)
		}
		return c.showCategory(created, err)
	})
}

func (p *program) categoryUpdateCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "update ID",
		Short: "Change the name or the description of a category",
		Long: `Change the name, the description or both. Only the account that created a
category may change it. With --if-match, the command fails if the category has
changed since petcat category get showed that ETag.`,
		Example: `  petcat category update 17 --name Ferrets --description ""
  petcat category update 17 --name Ferrets --if-match "$(petcat category get 17 --json | jq -r .etag)"`,
	}
	name := cmd.Flags().String("name", "", "change the name to this `name`")
	description := cmd.Flags().String("description", "",
		"change the description to this `text`; an empty text removes it")
	match := cmd.Flags().String("if-match", "", "change the category only if it has this `ETag`")
	return p.calling(cmd, func(c *call, api *client.Client) error {
		change := client.CategoryChange{}
		if c.cmd.Flags().Changed("name") {
			change.Name = name
		}
		if c.cmd.Flags().Changed("description") {
			change.Description = description
		}
		if change.Name == nil && change.Description == nil {
			return usageErrorf("there is nothing to change; give --name, --description or both")
		}
		var options []client.Option
		if c.cmd.Flags().Changed("if-match") {
			options = append(options, client.WithIfMatch(*match))
		}
		changed, _, err := api.Categories.Update(c.ctx(), c.categoryID(), change, options...)
		if errors.Is(err, client.ErrOutcomeUnknown) {
			err = fmt.Errorf("%w; check with: petcat category get %s", err, c.args[0])
		}
		return c.showCategory(changed, err)
	})
}

func (p *program) categoryDeleteCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "delete ID",
		Short:   "Delete a category",
		Example: "  petcat category delete 7",
		Long: `Delete a category. Only the account that created it may delete it, and only
while the account has no pets of it.`,
	}
	yesFlag(cmd)
	return p.calling(cmd, deleteCategory)
}

// deleteCategory deletes a category. On a terminal, its confirmation shows the name, because an id
// is easily mistyped.
func deleteCategory(c *call, api *client.Client) error {
	var found client.Category
	if !c.is("yes") && c.isTerminal(c.stdin) {
		var err error
		if found, _, err = api.Categories.Get(c.ctx(), c.categoryID()); err != nil {
			return err
		}
	}
	if err := c.confirm(c.is("yes"), "Permanently delete category %s (%s)?", c.args[0], found.Name); err != nil {
		return err
	}
	_, err := api.Categories.Delete(c.ctx(), c.categoryID())
	if errors.Is(err, client.ErrOutcomeUnknown) {
		err = fmt.Errorf("%w; run the command again", err)
	}
	return c.done(err, record{kv("id", c.categoryID()), kv("deleted", true)}, "Category %s is deleted.", c.args[0])
}

// categoryID returns the first argument, which arguments has validated.
func (c *call) categoryID() int64 {
	id, _ := parseCategoryID(c.args[0])
	return id
}

func parseCategoryID(text string) (int64, error) {
	id, isID := petcat.ParseID(text)
	if !isID {
		return 0, usageErrorf(
			"%q is not the id of a category, which is a number such as 17; list them with: petcat category list", text)
	}
	return id, nil
}
