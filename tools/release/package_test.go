package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
)

// find returns the path of a program, which Debian has in the named package. A test that
// misses one is skipped, or fails when PETCAT_TEST_REQUIRE is set.
func find(t *testing.T, program, debianPackage string) string {
	t.Helper()
	for _, name := range []string{program, "/usr/sbin/" + program, "/lib/systemd/" + program} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	missing(t, program+" is not installed; on Debian: apt-get install --no-install-recommends "+debianPackage)
	return ""
}

func missing(t *testing.T, what string) {
	t.Helper()
	if os.Getenv("PETCAT_TEST_REQUIRE") != "" {
		t.Fatal(what)
	}
	t.Skip(what)
}

// TestPackage installs, upgrades and removes the package where systemd is process 1, in a
// copy of this machine's files that it throws away. testdata/package.sh is what happens.
func TestPackage(t *testing.T) {
	needSystemd(t)
	pair := mustBuild(t)
	older, err := filepath.Glob(filepath.Join(pair[0].out, "*_"+host(t)+".deb"))
	must(t, err)
	if len(older) != 1 {
		t.Fatalf("there are the packages %q", older)
	}
	next := *pair[0]
	next.version, next.out = "1.3.0-rc.1", filepath.Join(shared, "next")
	next.platforms = []platform{{"linux", runtime.GOARCH}}
	must(t, next.make(t.Context()))

	versions := fmt.Sprintf("OLD=%s NEW=%s MAINTAINER=%q\n", pair[0].version, next.version, maintainer)
	boot(t, "package.sh", map[string]string{"old.deb": mustRead(t, older[0]), "new.deb": mustRead(t, next.file(next.platforms[0], ".deb")), "versions": versions})
}

// TestByHand does as root what docs/operations.md says of an archive: install, staging
// beside production, a restore, TLS on port 443. testdata/byhand.sh looks at what comes of it.
func TestByHand(t *testing.T) {
	needSystemd(t)
	find(t, "openssl", "openssl")
	files := map[string]string{}
	for name, file := range unpack(t, mustBuild(t)[0], platform{"linux", runtime.GOARCH}) {
		files["archive/"+name] = mustRead(t, file)
	}
	operations := mustRead(t, "../../docs/operations.md")
	for _, title := range []string{"Install", "Staging beside production", "Restore a backup", "TLS"} {
		_, section, _ := strings.Cut(operations, "\n## "+title+"\n")
		section, _, _ = strings.Cut(section, "\n## ")
		blocks := regexp.MustCompile("(?ms)^```sh\n(.*?)^```$").FindAllStringSubmatch(section, -1)
		if len(blocks) == 0 {
			t.Fatalf("docs/operations.md has no commands under %s", title)
		}
		for _, block := range blocks {
			files[title] += block[1]
		}
	}
	boot(t, "byhand.sh", files)
}

// needSystemd ends a test that cannot start systemd.
func needSystemd(t *testing.T) {
	t.Helper()
	if runtime.GOOS != "linux" || os.Geteuid() != 0 {
		t.Skip("it starts systemd in namespaces of its own, which takes root on Debian")
	}
	for program, debianPackage := range map[string]string{
		"dpkg": "dpkg", "systemd": "systemd", "deb-systemd-helper": "init-system-helpers", "unshare": "util-linux", "ip": "iproute2", "curl": "curl", "ps": "procps",
	} {
		find(t, program, debianPackage)
	}
}

// boot runs a script of testdata where systemd is process 1, in a copy of this machine's
// files that it throws away. files are what the script finds in /test.
func boot(t *testing.T, script string, files map[string]string) {
	t.Helper()
	folder := t.TempDir()
	files["script"] = mustRead(t, filepath.Join("testdata", script))
	for name, text := range files {
		file := filepath.Join(folder, "files", name)
		must(t, os.MkdirAll(filepath.Dir(file), 0o755))
		must(t, os.WriteFile(file, []byte(text), 0o644))
	}
	must(t, os.WriteFile(filepath.Join(folder, "output"), nil, 0o644))
	must(t, os.Mkdir(filepath.Join(folder, "copy"), 0o755))
	// It ends with its process 1, and unshare ends that with itself.
	booted := exec.CommandContext(t.Context(), "unshare", "--mount", "--pid", "--fork", "--kill-child", "--uts", "--ipc", "--net", "--cgroup", "--mount-proc",
		"sh", "testdata/boot.sh", folder)
	out, err := booted.CombinedOutput()
	text, _ := os.ReadFile(filepath.Join(folder, "output"))
	if len(text) == 0 {
		missing(t, fmt.Sprintf("systemd cannot be started in namespaces here: %v: %s", err, out))
	}
	if !strings.HasSuffix(strings.TrimSpace(string(text)), "PASSED") {
		t.Errorf("%v: %s\n%s", err, out, text)
	}
}

func mustRead(t *testing.T, file string) string {
	t.Helper()
	data, err := os.ReadFile(file)
	must(t, err)
	return string(data)
}

// host returns the platform of this machine.
func host(t *testing.T) string {
	t.Helper()
	for _, p := range released() {
		if p.system == runtime.GOOS && p.architecture == runtime.GOARCH {
			return p.String()
		}
	}
	t.Skip("there is no release for this machine")
	return ""
}
