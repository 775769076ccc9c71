package backup

import (
	"crypto/sha256"
	"fmt"

	"petcat"
)

// What follows checks what callers create, and the keys under which they did.

func (c *Checker) category(v []any) {
	id, revision := v[0].(int64), v[3].(int64)
	c.categories.add(id)
	c.number("category", id, int64(c.header.LastCategory))
	c.assert(revision > 0 && revision <= int64(c.header.Revision), func() string {
		return fmt.Sprintf("category %d has the revision %d, and the last one is %d: lists would miss its next change", id, revision, c.header.Revision)
	})
	name, _ := v[1].(string)
	var description *string
	if text, ok := v[2].(string); ok {
		description = &text
	}
	_, err := petcat.ParseNewCategory(&name, description)
	c.assert(err == nil, func() string { return fmt.Sprintf("category %d breaks a rule: %s", id, messageOf(err)) })
	if creator := v[4].(int64); creator != 0 { // else an operator created it
		c.creator("category", id, creator)
	}
}

// number checks an id of what callers create.
func (c *Checker) number(what string, id, last int64) {
	c.assert(id > 0 && id <= last, func() string {
		return fmt.Sprintf("%s %d is behind the last id given out, %d, which would be given out again", what, id, last)
	})
}

// creator checks who created it.
func (c *Checker) creator(what string, id, account int64) {
	c.assert(c.accounts.has(account), func() string {
		return fmt.Sprintf("%s %d was created by %s, which does not exist", what, id, petcat.AccountID(account))
	})
}

func (c *Checker) pet(v []any) {
	id, category := v[0].(int64), petcat.CategoryID(v[2].(int64))
	c.pets.add(id)
	c.number("pet", id, int64(c.header.LastPet))
	name, _ := v[1].(string)
	_, err := petcat.ParseNewPet(&name, &category)
	c.assert(err == nil, func() string { return fmt.Sprintf("pet %d breaks a rule: %s", id, messageOf(err)) })
	c.assert(c.categories.has(int64(category)), func() string { return fmt.Sprintf("pet %d is of category %d, which does not exist", id, category) })
	c.creator("pet", id, v[3].(int64))
}

func (c *Checker) storeOrder(v []any) {
	id, pet, quantity := v[0].(int64), petcat.PetID(v[2].(int64)), v[3].(int64)
	c.number("order", id, int64(c.header.LastOrder))
	c.creator("order", id, v[1].(int64))
	_, err := petcat.ParseNewOrder(&pet, &quantity)
	c.assert(err == nil, func() string { return fmt.Sprintf("order %d breaks a rule: %s", id, messageOf(err)) })
	c.assert(c.pets.has(int64(pet)), func() string { return fmt.Sprintf("order %d is of pet %d, which does not exist", id, pet) })
}

func (c *Checker) idempotency(v []any) {
	account, created := petcat.AccountID(v[0].(int64)), v[3].(int64)
	_, err := petcat.ParseIdempotencyKey(v[1].(string))
	c.assert(err == nil, func() string {
		return fmt.Sprintf("an idempotency key of %s breaks a rule: %s", account, messageOf(err))
	})
	c.assert(c.accounts.has(int64(account)), func() string { return fmt.Sprintf("an idempotency key belongs to %s, which does not exist", account) })
	last := max(int64(c.header.LastCategory), int64(c.header.LastPet), int64(c.header.LastOrder))
	c.assert(created > 0 && created <= last, func() string { // it may be deleted
		return fmt.Sprintf("an idempotency key of %s refers to the id %d, which nothing ever had", account, created)
	})
	c.assert(len(v[2].([]byte)) == sha256.Size, func() string {
		return fmt.Sprintf("an idempotency key of %s has a fingerprint of %d bytes", account, len(v[2].([]byte)))
	})
}
