// Package representation implements the HTTP rules for representations (RFC 9110):
// it chooses a content coding, evaluates conditional requests, and serves documents
// that never change while the program runs.
//
// It serves no ranges. It depends on nothing that could be unavailable.
package representation
