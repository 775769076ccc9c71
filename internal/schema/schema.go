// Package schema has the tables of the data, once for both databases.
//
// Each file is a migration, in the order of the names. It is written in the SQL of SQLite, with
// BOOLEAN as one more type. If a database needs more, its package has a file with the same name,
// which is the second part of that migration.
//
// Migrations only add, so that the version before works with a newer schema. One that alters a
// table which creates write locks the row of counter first (UPDATE counter SET revision =
// revision), as creates do; otherwise it deadlocks with the creates of running nodes.
package schema

import (
	"embed"
	"io/fs"
	"strings"
)

//go:embed *.sql
var shared embed.FS

// Migrations returns the migrations of a database. types replaces the types of SQLite.
func Migrations(own embed.FS, types *strings.Replacer) (texts []string) {
	names, _ := fs.Glob(shared, "*.sql") // in order; only a bad pattern is an error
	for _, name := range names {
		text, _ := shared.ReadFile(name) // it exists
		more, _ := own.ReadFile(name)    // empty if there is none
		texts = append(texts, types.Replace(string(text)+string(more)))
	}
	return texts
}
