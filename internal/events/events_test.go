package events

import (
	"testing"
	"time"

	"github.com/petcat-api/petcat"
)

// TestSignature: the example of the specification of Standard Webhooks, and both secrets of an overlap.
func TestSignature(t *testing.T) {
	m := message{
		id:   "msg_p5jXN8AQM9LWM0D4loKWxJek",
		at:   time.Unix(1614265330, 0),
		body: []byte(`{"test": 2432232314}`),
	}
	secret := petcat.NewSecret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
	const want = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
	for count, want := range []string{"", want, want + " " + want} {
		got, err := m.signature([]petcat.Secret{secret, secret}[:count])
		if err != nil || got != want {
			t.Errorf("got %q, %v, want %q", got, err, want)
		}
	}
	if _, err := m.signature([]petcat.Secret{petcat.NewSecret("whsec_*")}); err == nil {
		t.Error("a damaged secret signs")
	}
}
