package keyring_test

import (
	"encoding/binary"
	"testing"

	"petcat"
	"petcat/internal/keyring"
)

// forge returns well-formed keys that nobody holds, as an attacker would.
func forge(t testing.TB, n int) []string {
	t.Helper()
	out := make([]string, n)
	for i := range out {
		out[i] = generate(t, &counter{next: uint64(i)}).Secret.Reveal()
	}
	return out
}

// counter is a source of bytes that differ from one number to the next.
type counter struct{ next uint64 }

func (c *counter) Read(p []byte) (int, error) {
	var number [8]byte
	binary.BigEndian.PutUint64(number[:], c.next*0x9e3779b97f4a7c15)
	for i := range p {
		p[i] = number[i%8] % 62
	}
	return len(p), nil
}

func TestMemoryIsBounded(t *testing.T) {
	const most = 10_000
	f := newFixture(t, func(o *keyring.Options) { o.MaxEntries = most })
	f.wantHolder()
	f.wantLookups(1)
	for _, key := range forge(t, 1<<17) {
		f.wantRefusal(key, petcat.CodeInvalidAPIKey)
	}
	// Strangers leave nothing behind, and do not push out those who belong here.
	if s := f.keyring.Stats(); s.Known != 1 {
		t.Errorf("%d keys are kept, want 1", s.Known)
	}
	f.wantHolder()
	f.wantLookups(0)

	for _, key := range forge(t, 3*most) {
		hash, err := petcat.ParseKey(petcat.Production, key)
		if err != nil {
			t.Fatal(err)
		}
		f.store.put(hash, f.holder)
		if _, err := f.identify(key); err != nil {
			t.Fatal(err)
		}
	}
	if s := f.keyring.Stats(); s.Known > most || s.Known < most/2 {
		t.Errorf("%d known keys are kept, want at most %d and not far fewer", s.Known, most)
	}
}

func BenchmarkIdentify(b *testing.B) {
	f := newFixture(b)
	key, now := f.key.Secret.Reveal(), f.clock.Read()
	unknown := forge(b, 1)[0]
	bad := key[:len(key)-1] + "!"
	for name, secret := range map[string]string{"known": key, "unknown": unknown, "bad checksum": bad} {
		b.Run(name, func(b *testing.B) {
			_, _ = f.keyring.Identify(b.Context(), secret, now)
			b.ReportAllocs()
			for b.Loop() {
				_, _ = f.keyring.Identify(b.Context(), secret, now)
			}
		})
	}
}
