package main

import (
	"github.com/spf13/cobra"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/representation"
)

func (p *program) moderateCommand() *cobra.Command {
	return parent(&cobra.Command{
		Use:   "moderate",
		Short: "Change and delete categories and pets of any account",
		Long: `Change and delete categories and pets of any account. Servers apply the changes
within a second, and the audit log records them. To delete everything that an
account created, use petcat account purge.`,
	},
		p.moderateCategoryCommand(),
		p.moderatePetCommand(),
	)
}

func (p *program) moderateCategoryCommand() *cobra.Command {
	deletion := p.managing(&cobra.Command{
		Use:     "delete ID",
		Short:   "Delete a category of any account",
		Example: "  petcat moderate category delete 7",
		Long:    `Delete a category of any account. Its pets stay, and keep its id.`,
	}, withManagedCategory(deleteManagedCategory))
	yesFlag(deletion)
	return parent(&cobra.Command{
		Use:   "category",
		Short: "Show, change and delete categories of any account",
	},
		p.managing(&cobra.Command{
			Use:     "show ID",
			Short:   "Show a category and its creator",
			Example: "  petcat moderate category show 7",
		}, withManagedCategory(showManagedCategory)),
		p.updateManagedCategoryCommand(),
		deletion,
	)
}

// noSuch returns an error not_found without the advice to list the existing things: no command lists
// them without an API key.
func noSuch(err error) error {
	if petcat.CodeOf(err) != petcat.CodeNotFound {
		return err
	}
	return &failure{code: exitFailed, text: explain(err), cause: err}
}

// withManagedCategory passes the category that the first argument names to run.
func withManagedCategory(run func(*call, petcat.ManagedCategory) error) func(*call) error {
	return func(c *call) error {
		category, err := c.store.FindCategory(c.ctx(), petcat.CategoryID(c.categoryID()))
		if err != nil {
			return noSuch(err)
		}
		return noSuch(run(c, category))
	}
}

func showManagedCategory(c *call, k petcat.ManagedCategory) error {
	return c.show(representation.Category(k))
}

func (p *program) updateManagedCategoryCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "update ID",
		Short:   "Change the name or the description of a category of any account",
		Example: `  petcat moderate category update 17 --name "removed by the operator" --description ""`,
	}
	name := cmd.Flags().String("name", "", "change the name to this `name`")
	description := cmd.Flags().String("description", "",
		"change the description to this `text`; an empty text removes it")
	return p.managing(cmd, withManagedCategory(func(c *call, k petcat.ManagedCategory) (err error) {
		var newName, newDescription *string
		if c.given("name") {
			newName = name
		}
		if *description != "" {
			newDescription = description
		}
		if newName == nil && !c.given("description") {
			return usageErrorf("there is nothing to change; give --name, --description or both")
		}
		remove := c.given("description") && *description == ""
		patch, err := petcat.ParseCategoryPatch(newName, newDescription, remove)
		if err != nil {
			return usage(err)
		}
		k.Category, err = c.store.UpdateCategory(c.ctx(), petcat.UpdateCategory{
			ID:    k.ID,
			By:    actor(),
			Patch: patch,
		})
		if err != nil {
			return err
		}
		return showManagedCategory(c, k)
	}))
}

func deleteManagedCategory(c *call, k petcat.ManagedCategory) error {
	err := c.confirm(c.is("yes"), "Permanently delete category %d (%s) in %s?", k.ID, k.Name, place(c.settings))
	if err != nil {
		return err
	}
	err = c.store.DeleteCategory(c.ctx(), petcat.DeleteCategory{
		ID: k.ID,
		By: actor(),
	})
	return c.done(err, record{kv("id", k.ID), kv("deleted", true)}, "Category %d (%s) is deleted.", k.ID, k.Name)
}

func (p *program) moderatePetCommand() *cobra.Command {
	deletion := p.managing(&cobra.Command{
		Use:     "delete PET_ID",
		Short:   "Delete a pet of any account",
		Example: "  petcat moderate pet delete 12",
		Long:    `Delete a pet of any account. Orders keep its id.`,
	}, deleteManagedPet)
	yesFlag(deletion)
	return parent(&cobra.Command{
		Use:   "pet",
		Short: "Delete pets of any account",
	}, deletion)
}

// parsePetID parses the id of a pet.
func parsePetID(text string) (petcat.PetID, error) {
	id, isID := petcat.ParseID(text)
	if !isID {
		return 0, usageErrorf("%q is not the id of a pet, which is a number such as 17", text)
	}
	return petcat.PetID(id), nil
}

func deleteManagedPet(c *call) error {
	id, err := parsePetID(c.args[0])
	if err != nil {
		return err
	}
	pet, err := c.store.FindPet(c.ctx(), id)
	if err != nil {
		return noSuch(err)
	}
	err = c.confirm(c.is("yes"), "Permanently delete pet %d (%s) in %s?", id, pet.Name, place(c.settings))
	if err != nil {
		return err
	}
	err = c.store.DeletePet(c.ctx(), petcat.DeletePet{ID: id, By: actor()})
	return c.done(noSuch(err), record{kv("id", id), kv("deleted", true)}, "Pet %d (%s) is deleted.", id, pet.Name)
}
