// Package client calls a Pet Category Service. A [Client] is made once and used by any
// number of goroutines. It imports the standard library and nothing else.
//
// A call returns when the service has answered, or with an error when it will not. It
// repeats a request whose failure may pass, up to 8 times, at growing and random
// intervals, and never earlier than Retry-After says. It does not repeat a request that
// may have been carried out, unless a second one does no harm: a read, a delete, or a
// create, which has an Idempotency-Key that is the same in all its requests. What the
// service refuses for good, it returns at once.
//
// # The gate
//
// All requests of a Client pass one gate, in the order of their calls. While nothing is
// known of the limits, the gate lets one request pass and holds the others until it is
// answered, for a second at most. An answer says how many requests remain. For a second,
// the gate lets as many pass as remain, less those in flight; after that, others may have
// used them. When none remain, it closes until the window has ended and a little longer,
// because all clients' windows end at once. So a Client that is alone on its account gets
// no 429. If others use the account too, and a request gets a 429, the gate closes for
// all until Retry-After has passed and a random time longer, which doubles with each 429
// in a row. When it opens, one request goes first again, and the others are spread evenly
// over that window: a crowd that comes back at once is refused again, and early retries
// get a key banned. A call whose context ends before the gate opens, or which would wait
// longer than [WithMaxWait] allows, gets the reason at once, and nothing is sent.
//
// # What it refuses to do
//
// The key is sent to the service alone: redirects are not followed, and no error and no
// printed Client shows it. Answers longer than 1 MiB, or 512 MiB for lists, are errors.
package client
