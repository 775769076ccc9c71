// Package ratelimit decides, for every authenticated request, whether it is
// admitted, and what the caller is told about it.
package ratelimit
