// Command release makes the files of a release from the commit that is checked out:
// programs for each platform in archives, a Debian package, a container image, a list
// of what is in each program, and the checksums of all of it.
//
// Two runs on one commit make the same bytes, wherever they run, as long as the version
// of Go is the same: no file holds a path, a user, or any time but that of the commit.
// It publishes nothing and signs nothing. It refuses to start on a tree with changes, and
// without what a release has to keep; when a step fails, it leaves no folder of the
// release behind.
package main
