package logging

import (
	"strconv"
	"unicode/utf8"
)

// What a caller sent is bounded in the log, in bytes as they are written: a byte
// that is escaped takes up to five.
const (
	maxMethod  = 32
	maxPath    = 256
	maxAddress = 64 // the longest there is has 39
)

// longestWord is how many letters and digits in a row are shown. The random part
// of a key has 38, the words of paths are shorter.
const longestWord = 20

// appendSent appends a text as a caller sent it, quoted, at most so many bytes of
// it, and escaped, so that no caller can forge a line or send control codes to a
// terminal. What could be a key is masked even without its prefix, and what is
// behind a percent sign left out: the path was unescaped once, and a
// key that was escaped twice would get past every mask. What was left out is shown by three dots.
func appendSent(dst []byte, s string, most int) []byte {
	if plainWords(s) && len(s) <= most {
		dst = append(dst, '"')
		dst = append(dst, s...)
		return append(dst, '"')
	}
	dst = append(dst, '"')
	most += len(dst)
	for len(s) > 0 && s[0] != '%' {
		before, n := len(dst), word(s)
		switch {
		case n > longestWord:
			dst = append(dst, "****"...)
		case n > 0:
			dst = append(dst, s[:n]...)
		default:
			_, n = utf8.DecodeRuneInString(s)
			dst = appendRune(dst, s[:n])
		}
		if len(dst) > most {
			dst = dst[:before]
			break
		}
		s = s[n:]
	}
	if len(s) > 0 {
		dst = append(dst, "..."...)
	}
	return append(dst, '"')
}

// plainWords reports whether a text can be written as it is. Nearly all can.
func plainWords(s string) bool {
	run := 0
	for i := 0; i < len(s); i++ {
		if isAlphanumeric(s[i]) {
			if run++; run > longestWord {
				return false
			}
			continue
		}
		run = 0
		if s[i] < ' ' || s[i] > '~' || s[i] == '"' || s[i] == '\\' || s[i] == '%' {
			return false
		}
	}
	return true
}

// word returns how many letters and digits a text begins with.
func word(s string) int {
	n := 0
	for n < len(s) && isAlphanumeric(s[n]) {
		n++
	}
	return n
}

// appendRune appends one character, or one byte that is none, as Go writes it in
// ASCII, escaped once more as JSON does: what is not UTF-8 keeps its bytes, as \xff.
func appendRune(dst []byte, s string) []byte {
	var buf [16]byte
	ascii := strconv.AppendQuoteToASCII(buf[:0], s)
	for _, c := range ascii[1 : len(ascii)-1] {
		if c == '"' || c == '\\' {
			dst = append(dst, '\\')
		}
		dst = append(dst, c)
	}
	return dst
}
