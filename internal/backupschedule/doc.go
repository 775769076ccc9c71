// Package backupschedule makes backups at intervals, beside a server that goes on: when
// one is due, one node makes it, in a folder.
//
// A backup counts when the finished file was synced, read again and checked, as petcat
// verify does; only then it gets its name, and only then older ones are removed. What
// became of the last one is a note in the store, so that neither a restart nor another
// node makes the next one too early; the note also says which node makes one now. A node
// that was killed meanwhile keeps the others waiting for [claimFor] at most.
//
// It works for a twentieth of the time, so that requests hardly feel it. When the store, the
// folder or the disk is unavailable, the backup fails, is counted and logged, and is tried
// again; nothing else waits for it, and nothing that was there before is removed.
package backupschedule
