package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"petcat/bench/report"
	"petcat/bench/seed"
	"petcat/bench/wrk"
)

// bareTable is petcat's table of categories with its two indexes.
const bareTable = `
	CREATE TABLE bare (
		id          bigint PRIMARY KEY,
		name        text COLLATE "C" NOT NULL,
		description text COLLATE "C",
		revision    bigint NOT NULL,
		account_id  bigint NOT NULL,
		created_at  bigint NOT NULL
	);
	CREATE INDEX bare_revision ON bare (revision)`

const bareInsert = `
	INSERT INTO bare (id, name, description, revision, account_id, created_at)
	SELECT $1 + n, name, description, $1 + n, 1, $4 FROM unnest($2::text[], $3::text[]) WITH ORDINALITY AS t (name, description, n)`

// bareInserter inserts groups as fast as PostgreSQL takes them: one connection, one
// prepared statement and one commit for each group, nobody to answer to. It knows
// the last id itself, because it is the only one that writes; petcat, which is not,
// takes it from a row that it locks and updates.
type bareInserter struct {
	conn *pgx.Conn
	last int64
}

func newBareInserter(ctx context.Context, url string) (*bareInserter, error) {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return nil, err
	}
	_, err = conn.Exec(ctx, bareTable)
	return &bareInserter{conn: conn}, err
}

// run inserts groups of this size for so long, and returns the rows per second.
func (b *bareInserter) run(ctx context.Context, size int, d time.Duration) (float64, error) {
	r := seed.Records(1)[0]
	names, descriptions := slices.Repeat([]string{r.Name}, size), slices.Repeat([]string{r.Description}, size)
	begun, begin := time.Now(), b.last
	for time.Since(begun) < d {
		if _, err := b.conn.Exec(ctx, bareInsert, b.last, names, descriptions, begun.UnixMilli()); err != nil {
			return 0, err
		}
		b.last += int64(size)
	}
	return float64(b.last-begin) / time.Since(begun).Seconds(), nil
}

// typical stands for groups as large as petcat's were in the same round. The other
// sizes are what as many clients can fill at most, which no server does whose
// clients do not all wait for the same commit, and more than they can fill.
const typical = 0

func bareGroups() []int { return []int{typical, connections, 256} }

const (
	sharedCreate = "petcat create, PostgreSQL"
	keyedCreate  = sharedCreate + ", Idempotency-Key"
)

func bareInsertOf(size int) string {
	if size == typical {
		return "bare insert, groups as large as petcat's"
	}
	return fmt.Sprintf("bare insert, groups of %d", size)
}

// nodesCreate compares durable creates through HTTP, with keys and limits, with
// bare inserts into the same PostgreSQL.
func (s *suite) nodesCreate(ctx context.Context, group string) error {
	const what = "several nodes: durable create, 64 connections"
	h, err := s.startShared(ctx, group)
	if err != nil {
		return err
	}
	defer h.stop()
	p, err := s.serveShared(ctx, h, "petcat", 0)
	if err != nil {
		return err
	}
	defer p.Stop()
	url, err := h.postgres.Database(ctx, "bare")
	if err != nil {
		return err
	}
	bare, err := newBareInserter(ctx, url)
	if err != nil {
		return err
	}
	defer func() { _ = bare.conn.Close(context.WithoutCancel(ctx)) }()
	plain, err := p.post(sharedCreate)
	if err != nil {
		return err
	}
	plain.meter = h.meter(p, map[string]string{createGroups: "petcat_commit_group_size_count"})
	keyed := plain
	keyed.name = keyedCreate
	keyed.request.Header = append(slices.Clone(plain.request.Header), "Idempotency-Key: "+wrk.Unique)

	m, inserts, err := s.createsAndInserts(ctx, group, bare, plain, keyed)
	if err != nil {
		return err
	}
	s.add(createRows(group, what, m, inserts)...)
	return nil
}

// createsAndInserts measures both in turns. The result for inserts is by the size
// of a group.
func (s *suite) createsAndInserts(ctx context.Context, group string, bare *bareInserter, subjects ...subject) (measured, map[int][]float64, error) {
	all, inserts := measured{}, map[int][]float64{}
	err := s.inTurns(func(round int) error {
		m, err := s.compare(ctx, group, connections, subjects...)
		if err != nil {
			return err
		}
		all.add(m)
		ours := report.Median(m.of(sharedCreate, each(createGroups)).Values)
		for _, size := range bareGroups() {
			rows := size
			if size == typical {
				rows = max(1, int(ours+0.5))
			}
			rate, err := bare.run(ctx, rows, s.duration)
			if err != nil {
				return err
			}
			inserts[size] = append(inserts[size], rate)
			s.say("   round %d, %-28s %12s", round, bareInsertOf(size), report.Format(rate, "/s"))
		}
		return nil
	})
	return all, inserts, err
}

// createRows compares with groups as large as petcat's, with those that as many
// clients can fill, and for information with larger ones.
func createRows(group, what string, m measured, inserts map[int][]float64) []report.Row {
	against := func(subject, text string, size int, f report.Figure) report.Row {
		return report.Compare(group, what+text, "/s", m.of(subject, rate).Values, report.Column{Name: bareInsertOf(size), Values: inserts[size]}, f)
	}
	value := func(subject, text, unit string, of func(report.Sample) float64) report.Row {
		return m.value(group, what+text, unit, subject, of, report.Figure{})
	}
	const key = ", Idempotency-Key"
	return []report.Row{
		against(sharedCreate, "", typical, report.AtLeast(0.35)),
		against(sharedCreate, "", connections, report.AtLeast(0.35)),
		against(sharedCreate, "", 256, report.Figure{}),
		against(keyedCreate, key, typical, report.Figure{}),
		m.ratio(group, what+key, "/s", keyedCreate, sharedCreate, rate, report.Figure{}),
		value(sharedCreate, ", p99", "ms", p99),
		value(keyedCreate, key+", p99", "ms", p99),
		value(sharedCreate, ", creates in a group", "", each(createGroups)),
		value(keyedCreate, key+", creates in a group", "", each(createGroups)),
		value(sharedCreate, ", PostgreSQL's CPU per answer", "µs", cpuOf(postgresCPU)),
	}
}
