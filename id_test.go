package petcat_test

import (
	"testing"

	"github.com/petcat-api/petcat"
)

// TestOneFormOfID: each id has one form.
func TestOneFormOfID(t *testing.T) {
	const largest = "9223372036854775807"
	for digits, want := range map[string]int64{
		"5": 5, "10": 10, largest: 1<<63 - 1,
		"": 0, "0": 0, "-5": 0, "+5": 0, "05": 0, "005": 0, " 5": 0, "5 ": 0, "5.0": 0,
		"5e0": 0, "0x5": 0, "1_0": 0, "٥": 0, largest + "0": 0,
	} {
		if id, isID := petcat.ParseID(digits); id != want || isID != (want > 0) {
			t.Errorf("ParseID(%q) = %d, %t, want %d", digits, id, isID, want)
		}
		key, err := petcat.ParseKeyID("key_" + digits)
		if int64(key) != want || want == 0 && petcat.CodeOf(err) != petcat.CodeInvalidField {
			t.Errorf("ParseKeyID of key_%s: %d, %v, want %d", digits, key, err, want)
		}
		account, isID := petcat.ParseAccountRef("acct_" + digits)
		if int64(account) != want || isID != (want > 0) {
			t.Errorf("ParseAccountRef of acct_%s: %d, %t, want %d", digits, account, isID, want)
		}
	}
	for _, text := range []string{"key_5", "KEY_5", "Key_5"} {
		if key, err := petcat.ParseKeyID(text); key != 5 {
			t.Errorf("ParseKeyID of %q: %d, %v", text, key, err)
		}
	}
	if account, _ := petcat.ParseAccountRef("ACCT_5"); account != 5 {
		t.Errorf("ParseAccountRef of ACCT_5: %d", account)
	}
	for _, text := range []string{"5", "acct_5", "key_key_5", "key_", ""} {
		if _, err := petcat.ParseKeyID(text); petcat.CodeOf(err) != petcat.CodeInvalidField {
			t.Errorf("ParseKeyID of %q: %v", text, err)
		}
	}
}
