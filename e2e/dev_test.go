package e2e

import (
	"bufio"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"petcat/internal/apicheck"
	"petcat/internal/stalltest"
	"petcat/internal/tooltest"
)

// startDev starts petcat dev and returns what it shows.
func startDev(t *testing.T, data string) (s *server, shown string) {
	t.Helper()
	s = startProcess(t, data, serveFlags("dev", data, nil)...)
	eventually(t, 5*time.Second, "everything is shown", func() bool {
		shown = s.stdout.String()
		return strings.Contains(shown, "Ctrl-C")
	})
	return s, shown
}

// pasteable returns the commands that a text offers, a line that ends in a
// backslash together with the next.
func pasteable(text string) (commands []string) {
	joined := strings.ReplaceAll(text, "\\\n", "\x00")
	for line := range strings.Lines(joined) {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "curl ") {
			commands = append(commands, strings.ReplaceAll(line, "\x00", "\\\n"))
		}
	}
	return commands
}

func TestDevShowsWhatWorks(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	s, shown := startDev(t, data)
	commands := pasteable(shown)
	if len(commands) != 2 {
		t.Fatalf("it offers %q", commands)
	}
	tooltest.Find(t, "curl", "curl")
	for i, want := range []int{http.StatusOK, http.StatusCreated} {
		sent := time.Now().Unix()
		out, err := exec.Command("sh", "-c", commands[i]).Output()
		must(t, err)
		in := bufio.NewReader(strings.NewReader(string(out)))
		res, err := http.ReadResponse(in, nil)
		must(t, err)
		if res.StatusCode != want {
			t.Errorf("%s\nanswers %s", commands[i], out)
		}
		for _, problem := range apicheck.Problems(res, nil, sent, time.Now().Unix()) {
			t.Error(problem)
		}
	}
	for _, link := range regexp.MustCompile(`http://\S+/(docs|metrics)`).FindAllString(shown, -1) {
		if status, _, err := ask(link); err != nil || status != http.StatusOK {
			t.Errorf("%s answers %d %v", link, status, err)
		}
	}
	link := regexp.MustCompile(`(http://\S+/console/sign-in)#([a-z2-7]{32})\n`).FindStringSubmatch(shown)
	if link == nil || link[1] != s.admin+"/console/sign-in" {
		t.Fatalf("the link to the console is %q", link)
	}
	browser := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := browser.PostForm(link[1], url.Values{"token": {link[2]}})
	must(t, err)
	must(t, res.Body.Close())
	if to := res.Header.Get("Location"); to != "/console/" || len(res.Cookies()) != 1 {
		t.Errorf("who opens the link gets %s, is sent to %q, and has %d cookies", res.Status, to, len(res.Cookies()))
	}
	if got := s.categories(devKeyIn(t, shown)); len(got) != 1 || got[0].Name != "dog" {
		t.Errorf("there are %v", got)
	}
}

// devKeyIn returns the key that is shown.
func devKeyIn(t *testing.T, shown string) string {
	t.Helper()
	key := regexp.MustCompile(`pck_live_\w{38}`).FindString(shown)
	if key == "" {
		t.Fatalf("no key is shown: %s", shown)
	}
	return key
}

func TestDevKeepsItsKey(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	s, shown := startDev(t, data)
	key := devKeyIn(t, shown)
	info, err := os.Stat(filepath.Join(data, "dev-key"))
	must(t, err)
	if mode := info.Mode().Perm(); mode != 0o600 {
		t.Errorf("%s has the mode %o", "dev-key", mode)
	}
	wantStatus(t, s.list(key), http.StatusOK)
	s.mustStop()
	wantNoSecret(t, "the log", s.log.String(), key)

	stalltest.Start(t).InTime("the second start", time.Second, func() (took time.Duration) {
		begin := time.Now()
		s, shown := startDev(t, data)
		took = time.Since(begin)
		if again := devKeyIn(t, shown); again != key {
			t.Error("the second start shows another key")
		}
		s.mustStop()
		return took
	})

	t.Run("one that was revoked is replaced", func(t *testing.T) {
		petcatDoes(t, data, "key", "revoke", "key_1", "--yes")
		s, shown := startDev(t, data)
		fresh := devKeyIn(t, shown)
		if fresh == key {
			t.Error("the revoked key is shown")
		}
		wantStatus(t, s.list(fresh), http.StatusOK)
		s.mustStop()
	})
	t.Run("so is an account that was closed", func(t *testing.T) {
		petcatDoes(t, data, "account", "close", "dev", "--yes")
		s, shown := startDev(t, data)
		wantStatus(t, s.list(devKeyIn(t, shown)), http.StatusOK)
		s.mustStop()
	})
}
