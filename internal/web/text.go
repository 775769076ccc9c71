package web

import (
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/petcat-api/petcat"
)

// HasSecret reports whether a URL contains a whole key or token. A part of one may be a name.
func HasSecret(u *url.URL) bool {
	query, err := url.QueryUnescape(u.RawQuery)
	if err != nil {
		query = u.RawQuery
	}
	return len(petcat.SecretsIn(u.Path)) > 0 || len(petcat.SecretsIn(query)) > 0
}

// CheckText returns an [petcat.Error] for texts of a request that PostgreSQL cannot store or compare: with
// U+0000, or not valid UTF-8. Every listener calls it before it uses a path, a query or a form.
func CheckText(texts ...string) error {
	for _, text := range texts {
		if !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
			return petcat.Errorf(petcat.CodeInvalidField,
				"the request contains text that is not valid UTF-8, or the character U+0000")
		}
	}
	return nil
}

// CheckValues is [CheckText] for the names and values of a query or a form.
func CheckValues(values url.Values) error {
	for name, all := range values {
		if err := CheckText(append(all, name)...); err != nil {
			return err
		}
	}
	return nil
}
