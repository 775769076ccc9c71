package petcat

import "strings"

// KeysIn returns what has the form of a key in a text, of any environment: each once,
// in the order of the text. [ParseKey] says which of them can be keys.
func KeysIn(text string) (secrets []Secret) {
	const start = "pck_" // of every environment's keys
	seen := map[string]bool{}
	for {
		at := strings.Index(text, start)
		if at < 0 {
			return secrets
		}
		for _, env := range []Environment{Production, Staging} {
			if key, found := keyAt(env, text[at:]); found && !seen[key] {
				seen[key] = true
				secrets = append(secrets, NewSecret(key))
			}
		}
		text = text[at+len(start):]
	}
}

// keyAt returns what has the form of an environment's key at the beginning of a text.
func keyAt(env Environment, text string) (key string, found bool) {
	length := len(env.keyPrefix()) + keyRandomLength + keyChecksumLength
	if len(text) < length || !strings.HasPrefix(text, env.keyPrefix()) || !isBase62([]byte(text[len(env.keyPrefix()):length])) {
		return "", false
	}
	return text[:length], true
}

// ParseKeyHint reads the hint of a key as somebody typed it. It returns an [Error] with
// [CodeInvalidField], which does not repeat it: it may be the key itself.
func ParseKeyHint(s string) (hint string, err error) {
	if len(s) != keyHintLength || !isBase62([]byte(s)) {
		return "", Errorf(CodeInvalidField, "a hint has %d letters and digits", keyHintLength)
	}
	return s, nil
}
