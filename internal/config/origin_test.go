package config

import (
	"strings"
	"testing"
)

// Browsers send one form of an origin. Any other is refused, and if it is clear which
// one is meant, the message says it.
func TestOrigins(t *testing.T) {
	for _, good := range []string{
		"", "*", "https://app.example.com", "http://localhost:3000", "https://app.example.com:8443", "http://127.0.0.1:5173",
		"http://[::1]", "https://xn--bcher-kva.example", "https://a_b.example", "https://a.example,https://b.example",
	} {
		if _, err := load(t, nil, "--cors-origins", good); err != nil {
			t.Errorf("%q: %v", good, err)
		}
	}
	for given, want := range map[string]string{
		"https://app.example.com/":                  "write https://app.example.com (",
		"https://App.Example.com":                   "write https://app.example.com (",
		"HTTPS://app.example.com":                   "write https://app.example.com (",
		"https://app.example.com:443":               "write https://app.example.com (",
		"https://a.example,https://b.example/":      "write https://b.example (",
		"app.example.com":                           "such as https://app.example.com",
		"null":                                      "such as https://app.example.com",
		"https://*.example.com":                     "such as https://app.example.com",
		"https://app.example.com/page":              "such as https://app.example.com",
		"https://user@app.example.com":              "such as https://app.example.com",
		"https://bücher.example":                    "such as https://app.example.com",
		"ftp://app.example.com":                     "such as https://app.example.com",
		"file:///":                                  "such as https://app.example.com",
		"http://[fe80::1%25eth0]":                   "such as https://app.example.com",
		"*,https://app.example.com":                 "* alone",
		"https://app.example.com;https://b.example": "such as https://app.example.com",
	} {
		_, err := load(t, nil, "--cors-origins", given)
		wantRefused(t, err, "--cors-origins", "PETCAT_CORS_ORIGINS", want)
		if strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: the message is not one line: %v", given, err)
		}
	}
}
