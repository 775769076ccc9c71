package e2e

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// startDev starts petcat dev, and returns its output.
func startDev(t *testing.T, place string) (n *node, shown string) {
	t.Helper()
	n = launchCommand(t, place, command(serveArguments("dev", place, nil)...))
	n.awaitReady()
	eventually(t, "the output is complete", func() bool {
		shown = n.stdout.String()
		return strings.Contains(shown, "Ctrl-C")
	})
	return n, shown
}

// TestDev: the commands and links in the output of petcat dev work. A second start shows the same key,
// even if the account was renamed.
func TestDev(t *testing.T) {
	t.Parallel()
	place := directory(t)
	n, text := startDev(t, place)
	commands := regexp.MustCompile(`(?m)^ *(curl (?:.*\\\n)*.*)$`).FindAllStringSubmatch(text, -1)
	if len(commands) != 2 {
		t.Fatalf("commands: %q", commands)
	}
	for i, status := range []string{"200 OK", "201 Created"} {
		cmd := exec.Command("sh", "-c", commands[i][1])
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + place} // without a proxy
		out, err := cmd.Output()
		if err != nil || !strings.HasPrefix(string(out), "HTTP/1.1 "+status) {
			t.Errorf("%s\nprints %s %v", commands[i][1], out, err)
		}
	}
	links := regexp.MustCompile(`http://\S+/(?:docs|metrics|account/sign-in|console/sign-in)`)
	for _, link := range links.FindAllString(text, -1) {
		a, err := try(http.DefaultClient, http.MethodGet, link, nil)
		must(t, err)
		a.want(t, http.StatusOK)
	}
	secret := regexp.MustCompile(`pck_live_\w{38}`).FindString(text)
	if all := n.categories(secret); len(all) != 1 {
		t.Errorf("categories: %v", all)
	}
	if info, err := os.Stat(filepath.Join(place, "dev-key")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("key file: %v %v", info, err)
	}
	n.stop()
	if strings.Contains(n.log.String(), secret) {
		t.Error("the log contains the key")
	}
	petcat(t, place, "account", "rename", "dev", "hobby")
	n, text = startDev(t, place)
	if !strings.Contains(text, secret) || !strings.Contains(text, "account hobby") {
		t.Errorf("the second start does not show the same key of the renamed account: %s", text)
	}
	n.stop()
}
