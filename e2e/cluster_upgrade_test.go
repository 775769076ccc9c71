package e2e

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// laterSchema is what a later version may do to a schema: it only adds, and takes
// its locks in the order in which a create does.
const laterSchema = `
	LOCK TABLE idempotency, counter, category IN ACCESS EXCLUSIVE MODE;
	DO $$ DECLARE name text; BEGIN
		FOR name IN SELECT tablename FROM pg_tables WHERE schemaname = 'public' AND tablename <> 'petcat_schema' LOOP
			EXECUTE format('ALTER TABLE %I ADD COLUMN later text NOT NULL DEFAULT ''later''', name);
			EXECUTE format('CREATE INDEX ON %I (later)', name);
		END LOOP;
	END $$;
	CREATE TABLE later (id bigint PRIMARY KEY);
	INSERT INTO petcat_schema (version_id, is_applied) VALUES (999, true)`

// TestClusterUpgrade: while a later version brings the schema up to date, nodes of
// this one lose no request, and serve on it from then on. One that starts now is
// refused.
func TestClusterUpgrade(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.start(3)
	key, unseen := c.newCaller(), c.newKey("unseen", unlimited...)
	c.remember(key)

	book := newLedger()
	var sent atomic.Int64
	stop := stream(8, 2*time.Millisecond, func(random *rand.Rand) {
		s := c.nodes[random.IntN(len(c.nodes))]
		n := sent.Add(1)
		if n%2 == 0 {
			if a, err := s.tryList(key); err != nil || a.StatusCode != http.StatusOK {
				t.Errorf("list: %v %v", a, err)
			}
			return
		}
		name := fmt.Sprint("c", n)
		book.send(name)
		changes := []request{withKey(key)}
		if n%4 == 1 {
			changes = append(changes, withHeader("Idempotency-Key", name))
		}
		if a, err := s.try(http.MethodPost, s.api+"/v1/categories", strings.NewReader(categoryBody(name)), changes...); err != nil || a.StatusCode != http.StatusCreated {
			t.Errorf("create: %+v, %v", a, err)
		} else {
			book.acknowledge(a.category(t))
		}
	})
	more := func() {
		t.Helper()
		until := sent.Load() + 200
		eventually(t, 20*time.Second, "there is a load", func() bool { return sent.Load() >= until })
	}
	more()
	c.postgres.Execute(t, c.database, laterSchema)
	more()
	lapse(time.Second) // several rounds of what nodes do on their own
	stop()

	for _, s := range c.nodes {
		book.check(s.categories(unseen))
		s.awaitWell(10 * time.Second)
	}
	if v := book.verdict(); v != (verdict{}) {
		t.Error(v)
	}
	code, said := serveFails(t, c.database)
	if code != exitConfig {
		t.Errorf("a node that starts ended with %d", code)
	}
	wantOneSentence(t, said, "newer petcat")
	c.mustStop()
}
