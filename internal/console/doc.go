// Package console is the web console of the admin listener. Operators see the state of the
// node and why callers are refused, and manage accounts, keys, bans and categories. The
// server renders the pages (html/template). Scripts, htmx and uPlot, are served from the
// binary; they update pages and draw charts, and the pages work without them.
//
// It calls the same operations of the domain as the command line, with the operator as the
// actor, so that each change is in the audit log and reaches every node in the same way. It
// knows no store.
//
// An operator signs in with a link that works once ([SignInLink]). Each request must be sent
// to a name of this console; a change must also come from a page of the console, and from
// an operator who may make changes. While the store is unavailable, pages say so with
// status 503, and nobody can sign in.
package console
