package logging

import "bytes"

// keyPrefix begins every key of every environment.
var keyPrefix = []byte("pck_") //nolint:gochecknoglobals // nobody changes it

// redact overwrites, in place, what follows the prefix of anything that looks
// like a key: the log may show that there was a key, never which. What is left
// (pck_live_****) has the length of what was there.
func redact(line []byte) {
	for {
		i := bytes.Index(line, keyPrefix)
		if i < 0 {
			return
		}
		line = line[i+len(keyPrefix):]
		// The environment's name stays: it is the useful part.
		for _, environment := range []string{"live_", "test_"} {
			if bytes.HasPrefix(line, []byte(environment)) {
				line = line[len(environment):]
				break
			}
		}
		n := 0
		for n < len(line) && (line[n] == '_' || isAlphanumeric(line[n])) {
			line[n] = '*'
			n++
		}
		line = line[n:]
	}
}

func isAlphanumeric(c byte) bool {
	return c-'0' < 10 || (c|0x20)-'a' < 26 // of bytes: what is less than '0' or 'a' becomes large
}
