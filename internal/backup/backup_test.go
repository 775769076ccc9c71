package backup

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/clocktest"
	"github.com/petcat-api/petcat/internal/datadir"
	"github.com/petcat-api/petcat/internal/pgtest"
	"github.com/petcat-api/petcat/internal/postgres"
	"github.com/petcat-api/petcat/internal/sqlite"
	"github.com/petcat-api/petcat/internal/store"
)

var server pgtest.Shared

func TestMain(m *testing.M) { server.Main(m) }

const operator petcat.Actor = "cli:ada"

var noon = time.Date(2027, 3, 4, 12, 0, 0, 0, time.UTC)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// stored is a store with its database, SQLite or PostgreSQL.
type stored struct {
	*store.Store
	store.Database
}

func openSQLite(t testing.TB, data string) stored {
	t.Helper()
	dir, err := datadir.Open(data, true)
	must(t, err)
	c := clocktest.NewManual(noon)
	db, err := sqlite.Open(t.Context(), sqlite.Options{Dir: dir, Clock: c})
	must(t, err)
	t.Cleanup(func() { must(t, db.Close()) })
	return stored{store.New(db, c), db}
}

func openPostgres(t testing.TB, url string) stored {
	t.Helper()
	c := clocktest.NewManual(noon)
	db, err := postgres.Open(t.Context(), postgres.Options{URL: petcat.NewSecret(url), Clock: c})
	must(t, err)
	t.Cleanup(func() { must(t, db.Close()) })
	return stored{store.New(db, c), db}
}

func createAccount(t testing.TB, s stored, name string) petcat.AccountID {
	t.Helper()
	free, err := petcat.ParseSubscription("free", petcat.Quota{}, petcat.Storage{})
	must(t, err)
	made, err := s.CreateAccount(t.Context(), petcat.By(operator), petcat.NewAccount{
		Name:         petcat.AccountName(name),
		Subscription: free,
	})
	must(t, err)
	return made.Value.ID
}

// leftOut are the tables that fill skips: tables with fixed rows, and tables that backups exclude.
const leftOut = `'meta', 'counter', 'audit', 'nodes', 'sessions', 'sign_in_links', 'deliveries'`

// fill adds rows to every other table.
func fill(t testing.TB, s stored, rows int) {
	t.Helper()
	createAccount(t, s, "zoo") // with an audit entry
	must(t, s.Change(t.Context(), "fill", func(tx *store.Tx) error {
		statements := make(map[string][2]string) // columns and values by table
		var tables []string
		err := tx.Query(func(scan store.Scan) error {
			var table, column, kind string
			var key, required int64
			if err := scan(&table, &column, &kind, &key, &required); err != nil {
				return err
			}
			value := "1"
			switch {
			case kind == "TEXT":
				value = `'犬 '' "' || char(10, 13, 9) || '\ ' || n`
			case kind == "BLOB":
				value = `CAST(char(0, 39, n) AS BLOB)`
			case key > 0:
				value = "n"
			}
			if required == 0 && key == 0 {
				value = "CASE n WHEN 2 THEN NULL ELSE " + value + " END"
			}
			s, found := statements[table]
			if !found {
				tables = append(tables, table)
			}
			statements[table] = [2]string{s[0] + ", " + column, s[1] + ", " + value}
			return nil
		}, `SELECT t.name, c.name, c.type, c.pk, c."notnull" FROM sqlite_schema AS t, pragma_table_info(t.name) AS c
			WHERE t.type = 'table' AND t.name NOT IN (`+leftOut+`) ORDER BY t.rowid, c.cid`)
		if err != nil {
			return err
		}
		for _, table := range tables {
			s := statements[table]
			_, err := tx.Exec(`WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers LIMIT ?)
				INSERT OR IGNORE INTO `+table+` (`+s[0][2:]+`) SELECT `+s[1][2:]+` FROM numbers`, rows)
			if err != nil {
				return fmt.Errorf("fill %s: %w", table, err)
			}
		}
		_, err = tx.Exec(`UPDATE counter SET access_revision = 1, revision = $1, category_id = $1, account_id = $1,
			key_id = $1, pet_id = $1, order_id = $1, token_id = $1, plan_request_id = $1, event_id = $1, webhook_id = $1`, rows)
		return err
	}))
}

func emptyFile(t testing.TB) *File {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a.backup")
	must(t, os.WriteFile(path, nil, 0o600))
	return &File{path: path}
}

// take makes a backup without faults.
func take(t testing.TB, from Source) (string, Info) {
	t.Helper()
	path := emptyFile(t).path
	_, err := Create(t.Context(), path, from, "test", noon)
	must(t, err)
	i, findings, err := Verify(t.Context(), path)
	must(t, err)
	if len(findings) > 0 || i.Program != "test" || !i.TakenAt.Equal(noon) {
		t.Fatalf("got the backup %+v with the faults %q", i, findings)
	}
	return path, i
}

func openFile(t testing.TB, path string) *File {
	t.Helper()
	f, err := Open(t.Context(), path)
	must(t, err)
	t.Cleanup(func() { _ = f.Close() })
	return f
}

func restoreSQLite(t testing.TB, data, path string) error {
	t.Helper()
	dir, err := datadir.Open(data, true)
	must(t, err)
	return sqlite.Restore(t.Context(), dir, operator, path, clocktest.NewManual(noon))
}

// TestMove: all rows are equal after a move to the other database and back.
func TestMove(t *testing.T) {
	const rows = 3
	path, first := take(t, filled(t, rows))
	for table, n := range first.Rows {
		if n < rows && !strings.Contains(leftOut, table) {
			t.Errorf("the test has %d rows of %s", n, table)
		}
	}
	sums := func(path string) map[string]sum {
		s, err := openFile(t, path).written()
		must(t, err)
		return s
	}
	for name, parameter := range map[string]string{"": "", " through a pooler": "default_query_exec_mode=exec"} {
		t.Run("SQLite to PostgreSQL to SQLite"+name, func(t *testing.T) {
			url := server.Server(t).Database(t)
			if parameter != "" {
				url += map[bool]string{true: "&", false: "?"}[strings.Contains(url, "?")] + parameter
			}
			there := openPostgres(t, url)
			must(t, there.Database.(*postgres.DB).Restore(t.Context(), operator, openFile(t, path)))
			second, of := take(t, there)
			data := t.TempDir()
			must(t, restoreSQLite(t, data, second))
			back := openSQLite(t, data)
			third, again := take(t, back)
			want, got := sums(path), sums(third)
			if n := got["audit"].rows; n != want["audit"].rows+2 {
				t.Errorf("the audit log has %d entries", n)
			}
			if of.Dataset == first.Dataset || again.Dataset == of.Dataset {
				t.Error("a restore kept the dataset name")
			}
			for _, sums := range []map[string]sum{want, got} {
				delete(sums, "audit")
				delete(sums, "meta")
			}
			if diff := cmp.Diff(want, got, cmp.AllowUnexported(sum{})); diff != "" {
				t.Errorf("the checksums differ (-want +got):\n%s", diff)
			}
			if id := createAccount(t, back, "next"); id != rows+1 {
				t.Errorf("the next account has the id %s", id)
			}
		})
	}
}

func filled(t testing.TB, rows int) stored {
	t.Helper()
	s := openSQLite(t, t.TempDir())
	fill(t, s, rows)
	return s
}

// TestSecretsAreExcluded: backups do not contain sessions, links or webhook secrets, not even in free
// pages. Webhooks in a backup are disabled, so that a copy of a deployment does not send events.
func TestSecretsAreExcluded(t *testing.T) {
	s := filled(t, 1)
	secret := strings.Repeat("sign me in", 4)
	must(t, s.Change(t.Context(), "sign in", func(tx *store.Tx) error {
		_, session := tx.Exec(`INSERT INTO sessions (hash, operator_name, account_id, created_at, seen_at)
			SELECT CAST(? AS BLOB), name, 0, 1, 1 FROM operators`, secret)
		_, link := tx.Exec(`INSERT INTO sign_in_links (hash, operator_name, account_id, expires_at)
			SELECT CAST(? AS BLOB), '', min(id), 1 FROM accounts`, secret)
		_, webhook := tx.Exec(`UPDATE webhooks SET secret = ?, old_secret = ?, disabled_at = NULL`, secret, secret)
		return errors.Join(session, link, webhook)
	}))
	path, i := take(t, s)
	text, err := os.ReadFile(path)
	must(t, err)
	if i.Rows["operators"] != 1 || i.Rows["sessions"] != 0 || strings.Contains(string(text), secret[:10]) {
		t.Errorf("the backup has %v, or the hash of a session", i.Rows)
	}
	var enabled int64
	must(t, openFile(t, path).file.Query(func(scan store.Scan) error { return scan(&enabled) },
		`SELECT count(*) FROM webhooks WHERE disabled_at IS NULL`))
	if enabled != 0 || i.Rows["webhooks"] != 1 {
		t.Errorf("the backup has %d webhooks, %d of them enabled; want 1, 0", i.Rows["webhooks"], enabled)
	}
}

// TestUnderLoad: a backup is a consistent snapshot during writes.
func TestUnderLoad(t *testing.T) {
	for _, name := range []string{"SQLite", "PostgreSQL"} {
		t.Run(name, func(t *testing.T) {
			var s stored
			if name == "SQLite" {
				s = openSQLite(t, t.TempDir())
			} else {
				s = openPostgres(t, server.Server(t).Database(t))
			}
			account := createAccount(t, s, "zoo")
			ctx, cancel := context.WithCancel(t.Context())
			var writer sync.WaitGroup
			writer.Go(func() {
				dog := "dog"
				dogs, err := petcat.ParseNewCategory(&dog, nil)
				for n := 0; ctx.Err() == nil && err == nil; n++ {
					create := petcat.CreateCategory{Account: account, New: dogs}
					create.IdempotencyKey = petcat.IdempotencyKey(fmt.Sprint(n))
					_, err = s.CreateCategory(t.Context(), create)
				}
				if err != nil {
					t.Error(err)
				}
			})
			for taken, seen := 0, int64(0); (taken < 3 || seen < 10) && !t.Failed(); taken++ {
				_, i := take(t, s)
				if seen = i.Rows["categories"]; i.Rows["idempotency_keys"] != seen || i.Revision < seen {
					t.Errorf("the backup is not a consistent snapshot: %+v", i)
				}
			}
			cancel()
			writer.Wait()
		})
	}
}

func wantUnusable(t *testing.T, err error, text string) {
	t.Helper()
	if e, ok := errors.AsType[*petcat.UnusableError](err); !ok || !strings.Contains(e.Message, text) {
		t.Errorf("got %v, want %q", err, text)
	}
}

// TestRestoreTarget: a restore never replaces data, and accepts a new disk.
func TestRestoreTarget(t *testing.T) {
	path, _ := take(t, filled(t, 1))
	data := t.TempDir()
	must(t, os.Mkdir(filepath.Join(data, "lost+found"), 0o700))
	must(t, restoreSQLite(t, data, path))
	wantUnusable(t, restoreSQLite(t, data, path), "already contains petcat.db")

	url := server.Server(t).Database(t)
	s := openPostgres(t, url)
	if _, err := s.Heartbeat(t.Context(), petcat.Node{ID: "a node", Label: "web"}); err != nil {
		t.Fatal(err)
	}
	db := s.Database.(*postgres.DB)
	wantUnusable(t, db.Restore(t.Context(), operator, openFile(t, path)), "a server uses the database")
	must(t, s.RemoveNode(t.Context(), "a node"))
	must(t, s.NoteFailedBackup(t.Context(), "web")) // of the empty database
	must(t, db.Restore(t.Context(), operator, openFile(t, path)))
	wantUnusable(t, db.Restore(t.Context(), operator, openFile(t, path)), "already contains data")
}

// TestNewerSchema: after a rollback, the previous program works with the newer schema. It makes and
// restores complete backups of SQLite, but does not copy a table that it knows only in part.
func TestNewerSchema(t *testing.T) {
	data := t.TempDir()
	s := openSQLite(t, data)
	_, err := s.Exec(t.Context(), "migrate", "ALTER TABLE meta ADD COLUMN more TEXT DEFAULT 'more'")
	must(t, err)
	_, err = s.Exec(t.Context(), "migrate", "PRAGMA user_version = 9999")
	must(t, err)
	wantNewer(t, s, true)
	path, _ := take(t, s)
	restored := t.TempDir()
	must(t, restoreSQLite(t, restored, path))
	_, err = openSQLite(t, restored).Exec(t.Context(), "use the new column", "UPDATE meta SET more = 'less'")
	must(t, err)
	there := openPostgres(t, server.Server(t).Database(t))
	refused := there.Database.(*postgres.DB).Restore(t.Context(), operator, openFile(t, path))
	wantUnusable(t, refused, "the backup was made by a newer petcat")
	wantNewer(t, there, false)
	_, err = there.Exec(t.Context(), "migrate", "UPDATE petcat_schema SET version = 9999")
	must(t, err)
	wantNewer(t, there, true)
	f := emptyFile(t)
	wantUnusable(t, there.Backup(t.Context(), f), "the database was migrated by a newer petcat")
	must(t, f.Close())
}

func wantNewer(t *testing.T, s stored, want bool) {
	t.Helper()
	if got, err := s.NewerSchema(t.Context()); err != nil || got != want {
		t.Errorf("the schema is newer: %t, %v; want %t", got, err, want)
	}
}

// TestUnusableFiles: files that are not finished backups, or were changed.
func TestUnusableFiles(t *testing.T) {
	path, _ := take(t, filled(t, 1))
	good, err := os.ReadFile(path)
	must(t, err)
	for name, c := range map[string]struct{ statement, want string }{
		"unfinished": {`DROP TABLE checksum`, "it is not a finished backup"},
		"other file": {`PRAGMA application_id = 7`, "it is not a backup of petcat"},
		"fewer rows": {`DELETE FROM bans`, "bans: the rows have changed since the backup (0 now, 1 then)"},
		"changed": {
			`UPDATE categories SET name = name || '!'`,
			"categories: the rows have changed since the backup (1 now, 1 then)",
		},
		"no table": {`DROP TABLE key_uses`, "key_uses: the rows have changed since the backup (0 now, 1 then)"},
		"SQL in a name": {
			`CREATE TABLE "categories WHERE 1; DELETE FROM accounts" (id INTEGER)`,
			`this is no backup of petcat: it has a table or a column with the name "categories WHERE 1; DELETE FROM accounts"`,
		},
		"extra table": {`CREATE TABLE other (id INTEGER)`, "sqlite_schema: the rows have changed"},
		"audit entry": {
			`DROP TRIGGER audit_not_updated; UPDATE audit SET actor = 'cli:eve'`,
			"audit entry 1 does not have the hash",
		},
		"reference": {
			`UPDATE api_keys SET account_id = 99`,
			"api_keys: row 1 refers to a row of accounts that does not exist",
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "a.backup")
			must(t, os.WriteFile(path, good, 0o600))
			db, err := sqlite.EditFile(t.Context(), path)
			must(t, err)
			_, err = db.Exec(c.statement)
			must(t, errors.Join(err, db.Close()))
			_, findings, err := Verify(t.Context(), path)
			if got := strings.Join(findings, "\n") + fmt.Sprint(err); !strings.Contains(got, c.want) {
				t.Errorf("verify returned %s, want %s", got, c.want)
			}
		})
	}
}

// TestUnreadableTable: compare returns an error and no findings.
func TestUnreadableTable(t *testing.T) {
	path, _ := take(t, filled(t, 3))
	var page, size int64
	good := openFile(t, path)
	const query = `SELECT rootpage, page_size FROM sqlite_schema, pragma_page_size WHERE name = 'accounts'`
	err := good.file.Query(func(scan store.Scan) error { return scan(&page, &size) }, query)
	must(t, err)
	must(t, good.Close())
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	must(t, err)
	_, err = file.WriteAt(make([]byte, size), (page-1)*size)
	must(t, errors.Join(err, file.Close()))
	if findings, err := openFile(t, path).compare(t.Context()); err == nil || findings != nil {
		t.Errorf("found %q, %v", findings, err)
	}
}

// dump returns all rows of a file as text.
func dump(t testing.TB, path string) (string, error) {
	t.Helper()
	f, err := Open(t.Context(), path)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }()
	if damage, err := f.file.Integrity(); err != nil || len(damage) > 0 {
		return "", fmt.Errorf("%q, %w", damage, err) // reading a damaged file may take forever
	}
	sums, err := f.written()
	if err != nil {
		return "", err
	}
	tables, err := f.Tables(t.Context())
	var text strings.Builder
	_, _ = fmt.Fprintln(&text, sums, tables)
	for _, table := range tables {
		for row, err := range f.Rows(table) {
			if err != nil {
				return "", err
			}
			_, _ = fmt.Fprintf(&text, "%s %q\n", table.Name, row)
		}
	}
	return text.String(), err
}

// wantNamed flips a bit of a backup, and checks that verify finds the fault if a row changed or the
// file is unreadable. It reports whether that is the case.
func wantNamed(t testing.TB, good []byte, want string, place int) (altered bool) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a.backup")
	bad := append([]byte{}, good...)
	bad[place/8] ^= 1 << (place % 8)
	must(t, os.WriteFile(path, bad, 0o600))
	got, err := dump(t, path)
	if err == nil && got == want {
		return false
	}
	if _, findings, err := Verify(t.Context(), path); err == nil && len(findings) == 0 {
		t.Errorf("bit %d of byte %d was flipped, and verify found nothing", place%8, place/8)
	}
	return true
}

// TestFlippedBits: verify finds flipped bits that alter a row. Some of the ten places are in rows.
func TestFlippedBits(t *testing.T) {
	path, _ := take(t, filled(t, 50))
	good, err := os.ReadFile(path)
	must(t, err)
	want, err := dump(t, path)
	must(t, err)
	text := string(good)
	places := []int{
		strings.Index(text, "犬") * 8,
		strings.LastIndex(text, "犬")*8 + 3,
		strings.Index(text, "account.create")*8 + 1,
		strings.Index(text, "CREATE TABLE categories")*8 + 2,
		strings.Index(text, "dataset")*8 + 5,
		strings.Index(text, "production") * 8,
	}
	for i := range 4 {
		places = append(places, len(good)*8/4*i+7)
	}
	altered := 0
	for _, place := range places {
		if wantNamed(t, good, want, place) {
			altered++
		}
	}
	if altered < 6 {
		t.Errorf("%d of %d places altered the data", altered, len(places))
	}
}

// replicated adds what litestream adds to a database.
func replicated(t testing.TB, s stored) {
	t.Helper()
	must(t, s.Change(t.Context(), "replicate", func(tx *store.Tx) error {
		_, err := tx.Exec(`
			CREATE TABLE _litestream_seq (id INTEGER PRIMARY KEY, seq INTEGER);
			CREATE TABLE _litestream_lock (id INTEGER);
			INSERT INTO _litestream_seq VALUES (1, 7)`)
		return err
	}))
}

// TestReplicatedDatabase: backups of a database that litestream replicates do not contain litestream's
// tables.
func TestReplicatedDatabase(t *testing.T) {
	s := filled(t, 3)
	without, _ := take(t, s)
	want, err := dump(t, without)
	must(t, err)
	replicated(t, s)
	path, _ := take(t, s)
	got, err := dump(t, path)
	must(t, err)
	if got != want {
		t.Errorf("the backup contains %s, want %s", got, want)
	}
}

// TestConvert: a backup of a database file is the same as one of the running database.
func TestConvert(t *testing.T) {
	dir, err := datadir.Open(t.TempDir(), true)
	must(t, err)
	c := clocktest.NewManual(noon)
	db, err := sqlite.Open(t.Context(), sqlite.Options{Dir: dir, Clock: c})
	must(t, err)
	s := stored{store.New(db, c), db}
	fill(t, s, 3)
	replicated(t, s)
	running, _ := take(t, s)
	want, err := dump(t, running)
	must(t, err)
	database, err := dir.Database()
	must(t, err)

	_, err = Convert(t.Context(), emptyFile(t).path, database, "test", noon)
	wantUnusable(t, err, "its last changes are in "+database+"-wal")
	must(t, db.Close())

	for path, want := range map[string]bool{database: true, running: false, emptyFile(t).path: false} {
		if is, err := sqlite.IsDatabase(path); err != nil || is != want {
			t.Errorf("%s is a database: %t, %v", path, is, err)
		}
	}
	path := emptyFile(t).path
	findings, err := Convert(t.Context(), path, database, "test", noon)
	must(t, err)
	got, err := dump(t, path)
	must(t, err)
	if got != want || len(findings) > 0 {
		t.Errorf("the converted database has the faults %q and contains %s, want %s", findings, got, want)
	}

	damaged, err := os.ReadFile(database)
	must(t, err)
	clear(damaged[len(damaged)-4096:]) // the page of an index
	must(t, os.WriteFile(database, damaged, 0o600))
	if findings, err := Convert(t.Context(), emptyFile(t).path, database, "test", noon); err != nil || len(findings) == 0 {
		t.Errorf("a damaged database has the faults %q, %v", findings, err)
	}
}
