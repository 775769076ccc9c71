// Package schema is the tables of the data, once for both databases.
//
// Each file is a migration, which every set of data has once, in the order of the names. One
// whose name ends in _sqlite.sql or _postgres.sql is for that database alone. The others are for
// both, in the words of SQLite, with BOOLEAN beside its types. Migrations only add, so that the
// version before works with a newer schema.
package schema

import (
	"embed"
	"io/fs"
	"strings"
)

//go:embed *.sql
var files embed.FS

// SQLite returns the migrations of a SQLite file.
func SQLite() []string {
	return migrations("_postgres.sql", strings.NewReplacer(" BOOLEAN", " INTEGER"))
}

// Postgres returns the migrations of a PostgreSQL database.
func Postgres() []string {
	return migrations("_sqlite.sql", strings.NewReplacer(
		" INTEGER", " bigint",
		" BLOB", " bytea",
		// Byte by byte: the collations of operating systems change, and damage indexes when
		// they do.
		" TEXT", ` text COLLATE "C"`,
		" STRICT, WITHOUT ROWID", "",
		" STRICT", "",
	))
}

// migrations returns the texts of all migrations but those of the other database.
func migrations(other string, words *strings.Replacer) (texts []string) {
	names, _ := fs.Glob(files, "*.sql") // in order; only a bad pattern is an error
	for _, name := range names {
		if strings.HasSuffix(name, other) {
			continue
		}
		text, _ := files.ReadFile(name) // it is there
		texts = append(texts, words.Replace(string(text)))
	}
	return texts
}
