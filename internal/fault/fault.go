// Package fault names the places where a test may make the program fail: die on the
// spot, or get an error from the disk. A store must keep its promises at the worst
// moments, which are too short to hit by chance.
//
// It is compiled out of released programs: without the build tag faults, [Hit] is an
// empty function that the compiler removes. With the tag, the environment variable
// PETCAT_FAULT chooses one point and what happens there:
//
//	PETCAT_FAULT=after_commit_before_reply=kill     the process dies, as by kill -9
//	PETCAT_FAULT=after_commit_before_reply=kill@3   at the third hit, not before
//	PETCAT_FAULT=before_commit=error                Hit returns an error, once
//
// The package depends on nothing that could be unavailable.
package fault

// Point names a place in the program.
type Point string

// The points.
const (
	// BeforeCommit is in the writer: the group's rows are written, the
	// transaction is still open. Nobody may ever see those rows after a kill.
	BeforeCommit Point = "before_commit"
	// AfterCommitBeforeReply is in the writer: the group is durable, and nobody
	// was told yet. After a kill the rows are there, and a repetition with the
	// same idempotency key must find them.
	AfterCommitBeforeReply Point = "after_commit_before_reply"
	// LeaseWrite is where a block of a day's requests is written down before it
	// may be handed out.
	LeaseWrite Point = "lease_write"
)

// Points returns every point.
func Points() []Point { return []Point{BeforeCommit, AfterCommitBeforeReply, LeaseWrite} }

// Variable is the environment variable that chooses a fault.
const Variable = "PETCAT_FAULT"
