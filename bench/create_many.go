package main

import (
	"context"
	"fmt"

	"petcat/bench/report"
	"petcat/bench/seed"
)

// createMany is the subject that has two million categories when it starts.
const createMany = "petcat create, 2,000,000 categories"

// createsIntoMany compares creates into a long list with those into a short one. The
// servers are started for each round: what holds at the start only is to be seen.
func (s *suite) createsIntoMany(ctx context.Context, group string) error {
	short, err := s.fresh(ctx, "into-few")
	if err != nil {
		return err
	}
	long, err := s.fresh(ctx, "into-many")
	if err != nil {
		return err
	}
	s.say("   filling a database with %s categories", thousand(2*million))
	if err := seed.Categories(ctx, long.Data, 2*million); err != nil {
		return err
	}
	into := func(name string, p *prepared) alternative {
		return alternative{name, func(int) (measured, error) { return s.createOnce(ctx, group, name, p) }}
	}
	both, err := s.alternate(into(petcatCreate, short), into(createMany, long))
	if err != nil {
		return err
	}
	what := fmt.Sprintf("durable create into %s categories, %d connections", thousand(2*million), connections)
	s.add(both.ratio(group, what, "/s", createMany, petcatCreate, rate, report.AtLeast(0.8)))
	return nil
}
