// Package client calls a Pet Category Service. A [Client] is made once and used by any
// number of goroutines. It imports the standard library and nothing else.
//
// A call returns the service's response, or an error. It retries a request whose failure may
// be temporary, up to 8 times, at growing and random intervals, and never earlier than
// Retry-After says. It does not retry a request that may have been carried out, unless a
// second one does no harm: a read, a delete, or a create, all of whose requests have the
// same Idempotency-Key. It returns any other error at once.
//
// # The gate
//
// All requests of a Client pass one gate, in the order of their calls. While the limits are
// unknown, the gate lets one request pass and holds the others back until that one is
// answered, for at most a second. A response says how many requests remain. For a second, the
// gate lets that many pass, less those in flight; after that, other clients of the account
// may have used them. When none remain, it closes until the window has ended and a little
// longer, because the windows of all clients end at the same time. So a Client that is alone
// on its account gets no 429.
//
// If other clients use the account too, and a request gets a 429, the gate closes until
// Retry-After has passed and a random time longer, which doubles with each 429 in a row.
// When it opens, one request goes first again, and the others are spread evenly over that
// window: clients that all send again at once are refused again, and early retries get a
// key banned. A call whose context would end before the gate opens, or that would wait
// longer than [WithMaxWait] allows, returns the reason at once and sends nothing.
//
// # What it refuses to do
//
// The key is sent only to the service: redirects are not followed, and no error and no
// printed Client shows it. Responses longer than 1 MiB, or 512 MiB for lists, are errors.
package client
