package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"petcat"
	"petcat/internal/backup"
)

func testBackup(t *testing.T, open Open) {
	t.Run("into a store of the same kind", func(t *testing.T) { RunMove(t, open, open) })
	t.Run("of format 1", func(t *testing.T) { testBackupOfFormat1(t, open) })
	t.Run("of nothing", func(t *testing.T) { testBackupOfNothing(t, open) })
	t.Run("while others write", func(t *testing.T) { testBackupUnderLoad(t, open) })
	t.Run("a cut or altered file is refused", func(t *testing.T) { testBrokenBackup(t, open) })
	t.Run("never over data", func(t *testing.T) { testRestoreOverData(t, open) })
	t.Run("errors of the other end", func(t *testing.T) { testBackupErrors(t, open) })
}

// paced is a store that is backed up beside requests.
type paced struct {
	backup.PacedSource

	file string // that is said to be written
	rest func() error
}

func (p paced) Backup(ctx context.Context, to backup.Sink) error {
	return p.BackupPaced(ctx, p.file, p.rest, to)
}

// beside returns a store that is backed up with rests. In the end nothing may lie beside
// the backup.
func beside(t *testing.T, s backup.PacedSource) paced {
	t.Helper()
	folder := t.TempDir()
	t.Cleanup(func() {
		if left, err := os.ReadDir(folder); err != nil || len(left) > 0 {
			t.Errorf("a backup left %v, %v", left, err)
		}
	})
	return paced{s, filepath.Join(folder, "file"), func() error { return nil }}
}

// take returns a backup of a store, which is without a fault.
func take(t *testing.T, from backup.Source) []byte {
	t.Helper()
	var file bytes.Buffer
	w := backup.NewWriter(&file, "test")
	if err := from.Backup(t.Context(), w); err != nil {
		t.Fatalf("back up: %v", err)
	}
	h, size, err := w.Finish()
	if err != nil || size != int64(file.Len()) || h.Program != "test" {
		t.Fatalf("a backup of %d bytes ended with %v, %d, %v", file.Len(), h, size, err)
	}
	wantSound(t, file.Bytes())
	return file.Bytes()
}

// wantSound checks what is in a backup.
func wantSound(t *testing.T, file []byte) backup.Header {
	t.Helper()
	var c backup.Checker
	r := read(t, file)
	defer r.Close()
	if err := r.CopyTo(&c); err != nil {
		t.Fatalf("read the backup: %v", err)
	}
	for _, finding := range c.Findings() {
		t.Errorf("in the backup: %s", finding)
	}
	return r.Header()
}

func read(t *testing.T, file []byte) *backup.Reader {
	t.Helper()
	r, err := backup.NewReader(bytes.NewReader(file))
	if err != nil {
		t.Fatalf("read the backup's header: %v", err)
	}
	return r
}

func restore(t *testing.T, to backup.Target, file []byte) error {
	t.Helper()
	r, err := backup.NewReader(bytes.NewReader(file))
	if err != nil {
		return err
	}
	defer r.Close()
	return to.Restore(t.Context(), operator, r)
}

// contents is everything that a store tells.
type contents struct {
	Accounts    []petcat.Account
	Keys        []petcat.Key
	Bans        []petcat.Ban
	Categories  []petcat.RevisedCategory
	Pets        []petcat.Pet
	Orders      map[petcat.AccountID][]petcat.Order
	Audit       []petcat.AuditEntry
	Credentials []petcat.Credential
	Access      petcat.AccessChange
	Usage       map[petcat.AccountID][]petcat.UsageHistory
	KeyUses     map[petcat.KeyID]time.Time
}

// household is a store with everything that there can be.
type household struct {
	*fixture
	hashes    []petcat.KeyHash
	free      petcat.Account
	keep      petcat.NewCategory // created with the idempotency key "keep"
	kept      petcat.CategoryID
	keepPet   petcat.CreatePet   // created with the idempotency key "pet"
	keepOrder petcat.CreateOrder // created with the idempotency key "order"
}

func furnish(t *testing.T, open Open) *household {
	t.Helper()
	f := start(t, open)
	h := &household{fixture: f, free: f.account(t, "zoo")}
	shop := f.account(t, "pet shop — Zürich")
	must2(t)(f.ChangeSubscription(t.Context(), operator, shop.ID, subscription(t, "enterprise", 7_777, 77_777)))
	gone := f.account(t, "gone")
	var keys []petcat.Key
	for i, a := range []petcat.AccountID{h.free.ID, h.free.ID, shop.ID, shop.ID, gone.ID} {
		terms := petcat.KeyTerms{ReadOnly: i == 3}
		if i == 1 {
			terms.ExpiresAt = f.now().Add(time.Hour)
		}
		k, g := f.keyOn(t, a, uint64(i+1), terms)
		keys, h.hashes = append(keys, k), append(h.hashes, g.Hash)
	}
	must2(t)(f.ChangeKey(t.Context(), operator, keys[1].ID, petcat.DisableKey))
	must2(t)(f.ChangeKey(t.Context(), operator, keys[2].ID, petcat.RevokeKey))
	successor := generate(t, 9)
	rotation, err := petcat.ParseRotation(keys[3].ID, time.Hour, successor)
	must(t, rotation, err)
	must2(t)(f.RotateKey(t.Context(), operator, rotation))
	h.hashes = append(h.hashes, successor.Hash)
	must2(t)(f.CloseAccount(t.Context(), operator, gone.ID))
	for i, k := range keys[:3] {
		b := petcat.Ban{Key: k.ID, Account: k.Account, Level: i + 3, StartedAt: f.now(), EndsAt: f.now().Add(time.Hour), EarlyRetries: 31 + i, Shadow: i == 1}
		if err := f.SaveBan(t.Context(), b); err != nil {
			t.Fatal(err)
		}
	}
	must2(t)(f.LiftBan(t.Context(), operator, keys[2].ID))

	empty, long := "", "Loyal.\n\tAnd always hungry: 犬 🐕"
	h.createOne(t, category(t, "old", nil), "expired")
	f.clock.Advance(petcat.IdempotencyRetention + time.Minute)
	h.createOne(t, category(t, "Dogs", nil), "")
	h.createOne(t, category(t, "Dogs", &empty), "")
	h.keep = category(t, " Cats\u00a0", &long)
	h.kept = h.createOne(t, h.keep, "keep")
	h.furnishPets(t, shop)
	h.furnishUsage(t, keys)
	return h
}

func today(f *fixture) int64 { return petcat.Day.Index(f.now().Unix()) }

func (h *household) createOne(t *testing.T, n petcat.NewCategory, key petcat.IdempotencyKey) petcat.CategoryID {
	t.Helper()
	created, err := h.CreateCategory(t.Context(), petcat.CreateCategory{Account: h.free.ID, New: n, IdempotencyKey: key})
	return must(t, created, err).Category.ID
}

// everything reads all that a store can be asked for.
func (h *household) everything(t *testing.T, s Store) contents {
	t.Helper()
	c := contents{Orders: map[petcat.AccountID][]petcat.Order{}, Usage: map[petcat.AccountID][]petcat.UsageHistory{}, KeyUses: map[petcat.KeyID]time.Time{}}
	c.Accounts = collect(t, func(fn func(petcat.Account) error) error { return s.EachAccount(t.Context(), fn) })
	c.Keys = collect(t, func(fn func(petcat.Key) error) error { return s.EachKey(t.Context(), 0, fn) })
	c.Bans = collect(t, func(fn func(petcat.Ban) error) error { return s.EachBan(t.Context(), fn) })
	c.Categories = categories(t, s)
	pets, err := s.ListPets(t.Context(), petcat.PetQuery{Limit: 1_000})
	c.Pets = must(t, pets, err)
	c.Audit = collect(t, func(fn func(petcat.AuditEntry) error) error {
		return s.EachAuditEntry(t.Context(), petcat.AuditQuery{}, fn)
	})
	for _, a := range c.Accounts {
		orders, err := s.ListOrders(t.Context(), petcat.OrderQuery{Account: a.ID, Limit: 1_000})
		c.Orders[a.ID] = must(t, orders, err)
		h.addUsageOf(t, s, a.ID, &c)
	}
	for _, hash := range h.hashes {
		found, err := s.FindCredentials(t.Context(), []petcat.KeyHash{hash})
		c.Credentials = append(c.Credentials, must(t, found, err)[hash])
	}
	access, err := s.AccessChangesSince(t.Context(), 0)
	c.Access = must(t, access, err)
	return c
}

// RunMove moves a deployment from one kind of store to another, and looks for
// anything that is different there.
func RunMove(t *testing.T, from, to Open) {
	t.Helper()
	h := furnish(t, from)
	file := take(t, h)
	if !bytes.Equal(file, take(t, beside(t, h))) {
		t.Error("a backup beside requests differs")
	}
	want := h.everything(t, h)
	moved := &fixture{clock: h.clock, open: to, place: t.TempDir()}
	moved.Store = moved.another(t)
	if err := restore(t, moved, file); err != nil {
		t.Fatalf("restore: %v", err)
	}
	// Another process, and a later one, sees the same.
	for _, s := range []Store{moved, moved.another(t)} {
		got := h.everything(t, s)
		last := len(got.Audit) - 1
		wantChain(t, got.Audit)
		if e := got.Audit[last]; e.Action != backup.AuditRestore || e.Actor != operator || last != len(want.Audit) {
			t.Errorf("the last of %d audit entries is %+v", last+1, e)
		}
		got.Audit = got.Audit[:last]
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("what was restored differs (-want +got):\n%s", diff)
		}
	}
	h.wantLifeGoesOn(t, moved, want)
	wantSound(t, take(t, moved))
}

// wantLifeGoesOn checks that nothing is given twice, and that what was promised
// before the move still holds.
func (h *household) wantLifeGoesOn(t *testing.T, moved *fixture, before contents) {
	t.Helper()
	replay, err := moved.CreateCategory(t.Context(), petcat.CreateCategory{Account: h.free.ID, New: h.keep, IdempotencyKey: "keep"})
	wantEqual(t, "the replay", petcat.CreatedCategory{Category: h.keep.As(h.kept), Replayed: true}, must(t, replay, err))
	_, err = moved.CreateCategory(t.Context(), petcat.CreateCategory{Account: h.free.ID, New: category(t, "other", nil), IdempotencyKey: "keep"})
	wantCode(t, err, petcat.CodeIdempotencyKeyReused)
	h.wantPetsGoOn(t, moved, before)
	last := before.Categories[len(before.Categories)-1]
	revision, err := moved.Revision(t.Context())
	must(t, revision, err)
	next, err := moved.CreateCategory(t.Context(), petcat.CreateCategory{Account: h.free.ID, New: category(t, "next", nil)})
	wantEqual(t, "the next category", last.ID+1, must(t, next, err).Category.ID)
	all := categories(t, moved)
	wantEqual(t, "the next revision", revision+1, all[len(all)-1].Revision)
	wantEqual(t, "the next account", before.Accounts[len(before.Accounts)-1].ID+1, moved.account(t, "next").ID)
	k, _ := moved.key(t, h.free.ID, 77)
	wantEqual(t, "the next key", before.Keys[len(before.Keys)-1].ID+1, k.ID)
	change, err := moved.AccessChangesSince(t.Context(), revision)
	must(t, change, err)
	if len(change.Accounts) != 1 || len(change.Keys) != 1 {
		t.Errorf("what changed after the restore is %+v", change)
	}
}

// testBackupOfFormat1: a file of the first format is restored, and its keys may write.
func testBackupOfFormat1(t *testing.T, open Open) {
	file, err := os.ReadFile(filepath.Join("..", "backup", "testdata", "format-1.backup"))
	must(t, file, err)
	f := start(t, open)
	if err := restore(t, f, file); err != nil {
		t.Fatal(err)
	}
	k := petcat.Key{ID: 1, Account: 1, Hint: "hint", CreatedAt: time.UnixMilli(5).UTC(), DisabledAt: time.UnixMilli(7).UTC()}
	wantEqual(t, "the keys", []petcat.Key{k}, f.keys(t, 0))
	wantSound(t, take(t, f))
}

func testBackupOfNothing(t *testing.T, open Open) {
	f := start(t, open)
	other := start(t, open)
	if err := restore(t, other, take(t, f)); err != nil {
		t.Fatal(err)
	}
	wantEqual(t, "the first account", petcat.AccountID(1), other.account(t, "first").ID)
}

// testBackupUnderLoad: a backup is of one moment, so each that is taken while
// others write is sound: no half create, no idempotency key without its category.
func testBackupUnderLoad(t *testing.T, open Open) {
	f := start(t, open)
	a := f.account(t, "zoo")
	ctx, cancel := context.WithCancel(t.Context())
	var writers sync.WaitGroup
	for client := range 4 {
		writers.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				key := petcat.IdempotencyKey(fmt.Sprintf("%d/%d", client, n))
				_, err := f.CreateCategory(t.Context(), petcat.CreateCategory{Account: a.ID, New: category(t, string(key), nil), IdempotencyKey: key})
				if err == nil && client == 0 && n%10 == 0 {
					f.key(t, a.ID, uint64(n+1))
				}
				if err != nil {
					t.Errorf("create during a backup: %v", err)
					return
				}
			}
		})
	}
	ways := []backup.Source{f, beside(t, f)}
	var last []byte
	var seen petcat.Revision
	// The writers may be slow to begin on a busy machine: backups go on until there
	// was something to see.
	for taken := 0; (taken < 10 || seen < 10) && !t.Failed(); taken++ {
		last = take(t, ways[taken%len(ways)])
		h := wantSound(t, last)
		if h.Rows[backup.IdempotencyKeys] != h.Rows[backup.Categories] || h.Rows[backup.AuditEntries] != h.Rows[backup.Keys]+1 {
			t.Errorf("a backup is not of one moment: %v", h.Rows)
		}
		if h.Revision < seen {
			t.Errorf("revision %d after %d", h.Revision, seen)
		}
		seen = h.Revision
	}
	cancel()
	writers.Wait()
	other := start(t, open)
	if err := restore(t, other, last); err != nil {
		t.Fatal(err)
	}
	wantEqual(t, "the number of categories", int(wantSound(t, last).Rows[backup.Categories]), len(categories(t, other)))
}

// testBrokenBackup: whatever is wrong with a file, the store stays empty, and
// takes the right file afterwards.
func testBrokenBackup(t *testing.T, open Open) {
	h := furnish(t, open)
	file := take(t, h)
	to := start(t, open)
	refused := func(what string, broken []byte) {
		t.Helper()
		err := restore(t, to, broken)
		if _, ok := errors.AsType[*backup.Error](err); !ok {
			t.Fatalf("%s: got %v, want an error of the file", what, err)
		}
	}
	const places = 40
	for i := range places {
		at := len(file) * i / places
		refused(fmt.Sprintf("cut at %d of %d", at, len(file)), file[:at])
		altered := bytes.Clone(file)
		altered[at] ^= 0x10
		refused(fmt.Sprintf("altered at %d of %d", at, len(file)), altered)
	}
	refused("with more at its end", append(bytes.Clone(file), 0))
	wantEqual(t, "the rows", int64(0), wantSound(t, take(t, to)).Total())
	if err := restore(t, to, file); err != nil {
		t.Fatalf("after all that: %v", err)
	}
}

func testRestoreOverData(t *testing.T, open Open) {
	file := take(t, furnish(t, open))
	to := start(t, open)
	to.account(t, "mine")
	before := take(t, to)
	if err := restore(t, to, file); !errors.Is(err, backup.ErrNotEmpty) {
		t.Fatalf("got %v, want %v", err, backup.ErrNotEmpty)
	}
	wantEqual(t, "what was there", wantSound(t, before).Rows, wantSound(t, take(t, to)).Rows)
}
