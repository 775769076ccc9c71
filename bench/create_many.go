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
	both := measured{}
	err = s.inTurns(func(int) error {
		for _, c := range []struct {
			name string
			data *prepared
		}{{petcatCreate, short}, {createMany, long}} {
			m, err := s.createOnce(ctx, group, c.name, c.data)
			if err != nil {
				return fmt.Errorf("%s: %w", c.name, err)
			}
			for name, samples := range m {
				both[name] = append(both[name], samples...)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	what := fmt.Sprintf("durable create into %s categories, %d connections", thousand(2*million), connections)
	s.add(both.ratio(group, what, "/s", createMany, petcatCreate, rate, report.AtLeast(0.8)))
	return nil
}
