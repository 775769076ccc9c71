package petcat

import "fmt"

// Secret is a text that must not appear in a log, an error, a metric or a page
// by accident: however it is printed or encoded, it shows [redacted]. Reveal is
// the only way to the text, so that every disclosure can be found by name.
type Secret struct {
	// A pointer, because package fmt does not call methods on unexported fields of another type, and
	// prints the bare memory instead, which for a pointer is an address. Nil: no text.
	text *string
}

const redacted = "[redacted]"

// NewSecret wraps a text.
func NewSecret(text string) Secret {
	if text == "" {
		return Secret{}
	}
	return Secret{text: &text}
}

// Reveal returns the text.
func (s Secret) Reveal() string {
	if s.text == nil {
		return ""
	}
	return *s.text
}

// IsZero reports whether there is no text.
func (s Secret) IsZero() bool { return s.text == nil }

// String returns [redacted].
func (s Secret) String() string { return redacted }

// Format writes [redacted] for every verb.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(redacted)) }

// MarshalText returns [redacted], for encoding/json, slog and the like.
func (s Secret) MarshalText() ([]byte, error) { return []byte(redacted), nil }
