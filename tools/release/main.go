package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/mail"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

func main() {
	root := flag.String("root", "../..", "the repository")
	version := flag.String("version", "", "the version, such as 1.2.3 or 1.2.3-rc.1")
	maintainer := flag.String("maintainer", "", "who answers for the Debian package, such as 'Example <packages@example.com>'")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *root, *version, *maintainer); err != nil {
		fmt.Fprintln(os.Stderr, "make release:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, root, version, maintainer string) error {
	root, err := filepath.Abs(root)
	if err != nil {
		return err
	}
	if err := check(ctx, root, version, maintainer); err != nil {
		return err
	}
	r, err := newRelease(ctx, root, version, maintainer)
	if err != nil {
		return err
	}
	return r.make(ctx)
}

// semver is a version of semver.org without metadata, which no file name may have.
var semver = regexp.MustCompile(`^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?$`)

// check refuses what must not be released, with everything that is missing.
func check(ctx context.Context, root, version, maintainer string) error {
	if !semver.MatchString(version) {
		return fmt.Errorf("VERSION is %q; give one such as 1.2.3 or 1.2.3-rc.1", version)
	}
	if who, err := mail.ParseAddress(maintainer); err != nil || who.Name == "" || strings.ContainsAny(maintainer, "\r\n") {
		return fmt.Errorf("MAINTAINER is %q; give who answers for the Debian package, such as MAINTAINER='Example <packages@example.com>'", maintainer)
	}
	var faults []error
	changes, err := output(ctx, root, "git", "status", "--porcelain")
	if err != nil {
		return err
	}
	if changes != "" {
		faults = append(faults, fmt.Errorf("the tree has changes; commit them first:\n%s", changes))
	}
	// A candidate is announced under the version that it is to become.
	announced, _, _ := strings.Cut(version, "-")
	changelog, err := os.ReadFile(filepath.Join(root, "CHANGELOG.md"))
	if err != nil {
		return err
	}
	if !strings.Contains(string(changelog), "\n## "+announced+"\n") {
		faults = append(faults, fmt.Errorf("CHANGELOG.md has no section %q", "## "+announced))
	}
	faults = append(faults, checkKept(root))
	return errors.Join(faults...)
}

// newRelease takes the commit and its time from git.
func newRelease(ctx context.Context, root, version, maintainer string) (*release, error) {
	revision, err := output(ctx, root, "git", "rev-parse", "HEAD")
	if err != nil {
		return nil, err
	}
	text, err := output(ctx, root, "git", "log", "-1", "--format=%ct")
	if err != nil {
		return nil, err
	}
	seconds, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return nil, fmt.Errorf("the time of the commit: %w", err)
	}
	return &release{
		root: root, out: filepath.Join(root, "dist", version),
		version: version, maintainer: maintainer, revision: revision, when: time.Unix(seconds, 0).UTC(),
		platforms: released(),
	}, nil
}

// output runs a program and returns what it printed.
func output(ctx context.Context, dir, program string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = dir
	out, err := cmd.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		err = fmt.Errorf("%w: %s", err, exit.Stderr)
	}
	if err != nil {
		return "", fmt.Errorf("%s %s: %w", program, strings.Join(args, " "), err)
	}
	return strings.TrimSpace(string(out)), nil
}
