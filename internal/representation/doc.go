// Package representation does what HTTP says of a resource's representations
// (RFC 9110): it chooses a content coding, evaluates conditional requests, and
// serves documents that never change while the program runs.
//
// It serves no ranges: a document is had whole or not at all. It depends on
// nothing that could be away.
package representation
