package console

import (
	"strconv"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/pages"
)

func petPath(id petcat.PetID) string { return "pets/" + strconv.FormatInt(int64(id), 10) }

// findPet returns the pet in the path.
func (c *Console) findPet(x *pages.Exchange) (petcat.Pet, error) {
	return c.Store.FindPet(x.R.Context(), petcat.PetID(id(x.R.PathValue("pet"))))
}

func (c *Console) pet(x *pages.Exchange) error {
	pet, err := c.findPet(x)
	if err != nil {
		return err
	}
	return x.Render("pet", pages.View{
		Title:   pet.Name,
		Section: "categories",
		Data:    pet,
	})
}

func (c *Console) confirmDeletePet(x *pages.Exchange) error {
	pet, err := c.findPet(x)
	if err != nil {
		return err
	}
	return x.Confirm("categories", pages.Confirmation{
		Question:    "Delete the pet " + pages.Isolate(pet.Name) + "?",
		Consequence: "It disappears from all lists. This cannot be undone. Orders keep its id, which is never reused.",
		Action:      petPath(pet.ID) + "/delete",
		Button:      "Delete the pet",
		Back:        petPath(pet.ID),
	})
}

func (c *Console) deletePet(x *pages.Exchange) error {
	by, err := x.Author()
	if err != nil {
		return err
	}
	err = c.Store.DeletePet(x.R.Context(), petcat.DeletePet{
		ID: petcat.PetID(id(x.R.PathValue("pet"))),
		By: by.Actor,
	})
	if petcat.CodeOf(err) == petcat.CodeNotFound && by.Key != "" {
		return x.GoTo("categories", "repeated") // the form was sent before
	}
	if err != nil {
		return err
	}
	return x.GoTo("categories", "pet")
}
