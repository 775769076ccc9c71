package api_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

var release = flag.Bool("release", false, "record the newest version of the interface as released")

// version is that of the interface, not of the program.
const version = "1.0.0"

const unreleased = "unreleased"

// TestReleasedVersionDoesNotChange fails when the document changed and its
// version did not, once that version was released.
func TestReleasedVersionDoesNotChange(t *testing.T) {
	const record = "testdata/versions.txt"
	text := readFile(t, record)
	if *release {
		text = bytes.Replace(text, []byte(version+" "+unreleased), []byte(version+" "+hash(t)), 1)
		if err := os.WriteFile(record, text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := checkVersions(string(text), version, hash(t)); err != nil {
		t.Error(err)
	}
}

func TestVersionRecordIsChecked(t *testing.T) {
	const a, b = "aa", "bb"
	for _, c := range []struct {
		name, record string
		ok           bool
	}{
		{"unreleased", "1.0.0 unreleased\n", true},
		{"released", "# why\n1.0.0 " + a + "\n", true},
		{"next one unreleased", "0.9.0 " + b + "\n1.0.0 unreleased\n", true},
		{"numbers, not texts, ascend", "0.9.0 " + b + "\n0.10.0 " + b + "\n1.0.0 " + a + "\n", true},
		{"changed after its release", "1.0.0 " + b + "\n", false},
		{"not recorded", "0.9.0 " + b + "\n", false},
		{"two unreleased", "0.9.0 unreleased\n1.0.0 unreleased\n", false},
		{"descending", "1.1.0 " + b + "\n1.0.0 " + a + "\n", false},
		{"empty", "", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if err := checkVersions(c.record, "1.0.0", a); (err == nil) != c.ok {
				t.Errorf("checked: %v", err)
			}
		})
	}
}

// checkVersions compares the record with the document of today.
func checkVersions(record, version, sum string) error {
	var previous []int
	newest, released := "", ""
	for line := range strings.Lines(record) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if released == unreleased {
			return fmt.Errorf("%s was never released, and yet %q follows it", newest, line)
		}
		var number [3]int
		if _, err := fmt.Sscanf(line, "%d.%d.%d %s", &number[0], &number[1], &number[2], &released); err != nil {
			return fmt.Errorf("line %q: %w", line, err)
		}
		if slices.Compare(number[:], previous) <= 0 {
			return fmt.Errorf("line %q: versions must ascend", line)
		}
		previous, newest = slices.Clone(number[:]), fmt.Sprintf("%d.%d.%d", number[0], number[1], number[2])
	}
	if newest != version {
		return fmt.Errorf("the newest version in the record is %q, the document's is %q: add a line", newest, version)
	}
	if released != unreleased && released != sum {
		return fmt.Errorf("openapi.yaml changed after %s was released: give it a new version", version)
	}
	return nil
}

func hash(t *testing.T) string {
	t.Helper()
	sum := sha256.Sum256(readFile(t, "openapi.yaml"))
	return hex.EncodeToString(sum[:])
}
