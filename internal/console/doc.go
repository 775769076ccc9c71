// Package console is the web console of the admin listener: where operators see how the
// node is and why callers are refused, and manage accounts, keys, bans and categories.
// Its pages are rendered here (html/template); htmx and uPlot, which are served from the
// binary, make them livelier and are not needed.
//
// It calls the operations of the domain that the command line calls, with the operator as
// the actor, so that each change is in the audit log and reaches every node in the same
// way. It knows no store.
//
// An operator signs in with a link that works once ([SignInLink]). What a request may do
// is decided in one place, serve: the name that it is sent to must be ours, a change must
// come from our own pages, and from an operator who may make changes. When the store is
// unavailable, pages say so with status 503, and nobody can sign in.
package console
