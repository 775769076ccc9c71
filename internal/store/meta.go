package store

import (
	"cmp"
	"crypto/rand"
	"time"

	"petcat"
	"petcat/internal/openerror"
)

// Meta identifies a set of data.
type Meta struct {
	Environment petcat.Environment
	Dataset     string // the dataset name
	Created     bool   // ReadMeta created it: there was no data before
}

// ReadMeta reads what identifies the data, or creates it if there is no data yet. It returns
// an error [openerror.OtherEnvironment] if the data belongs to another environment than env.
// If env is "", any environment is accepted, and new data is for production.
func ReadMeta(c Conn, env petcat.Environment, now time.Time) (Meta, error) {
	const insert = `INSERT INTO meta (name, value) VALUES ('environment', ?), ('dataset', ?), ('created_at', ?) ON CONFLICT DO NOTHING`
	const query = `SELECT e.value, d.value FROM meta AS e, meta AS d WHERE e.name = 'environment' AND d.name = 'dataset'`
	read := func() (m Meta, found bool, err error) {
		found, err = c.QueryRow(query, nil, (*string)(&m.Environment), &m.Dataset)
		return m, found, err
	}
	m, found, err := read()
	if err == nil && !found {
		// Of several nodes that start at once, the first to insert decides. The rows
		// are inserted in one order, so they cannot deadlock.
		fresh, name := cmp.Or(env, petcat.Production), rand.Text()
		if _, err = c.Exec(insert, string(fresh), name, now.UTC().Format(time.RFC3339)); err == nil {
			m, _, err = read()
			m.Created = m.Dataset == name
		}
	}
	if err != nil {
		return Meta{}, err
	}
	if env != "" && m.Environment != env {
		return Meta{}, openerror.Errorf(openerror.OtherEnvironment, nil, "the data belongs to the %s environment and this is %s", m.Environment, env)
	}
	return m, nil
}
