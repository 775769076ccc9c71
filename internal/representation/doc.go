// Package representation implements the HTTP rules that the API, the console and the
// documents share (RFC 9110): it chooses a content coding, evaluates conditional
// requests, serves documents that never change while the program runs, and knows the
// status of each error code.
//
// It serves no ranges. It depends on nothing that could be unavailable.
package representation
