//go:build long && unix

package e2e

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// machineWithCopy is a single node with litestream, which copies its database to another place.
type machineWithCopy struct {
	t                        *testing.T
	litestream               string // the program
	place                    string // the data directory
	dataset                  string
	config, copies, restored string // paths
	n                        *node
	copier                   *exec.Cmd
	log                      text
}

// buildLitestream builds the real program from its module.
func buildLitestream(t *testing.T) (program string) {
	t.Helper()
	program = filepath.Join(t.TempDir(), "litestream")
	cmd := exec.Command("go", "build", "-modfile=tools/litestream.mod", "-o", program,
		"github.com/benbjohnson/litestream/cmd/litestream")
	cmd.Dir = ".."
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build litestream: %v: %s", err, out)
	}
	return program
}

// newMachineWithCopy does not start the processes. It uses the configuration of deploy/litestream.
func newMachineWithCopy(t *testing.T, litestream, place string) *machineWithCopy {
	t.Helper()
	dir := t.TempDir()
	m := &machineWithCopy{
		t:          t,
		litestream: litestream,
		place:      place,
		dataset:    datasetOf(t, place),
		config:     filepath.Join(dir, "litestream.yml"),
		copies:     filepath.Join(dir, "copies"),
		restored:   filepath.Join(dir, "restored.db"),
	}
	example, err := os.ReadFile("../deploy/litestream/litestream.yml")
	must(t, err)
	own := strings.NewReplacer("/var/lib/petcat", place, "/mnt/vault/petcat", m.copies).Replace(string(example))
	must(t, os.WriteFile(m.config, []byte(own), 0o600))
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the log of litestream:\n%s", m.log.String())
		}
	})
	return m
}

// start starts petcat, then litestream, as the systemd units do, and waits for the first copy.
func (m *machineWithCopy) start() {
	m.t.Helper()
	m.n = serve(m.t, m.place)
	m.copier = exec.Command(m.litestream, "replicate", "-config", m.config)
	m.copier.SysProcAttr = diesWithTest()
	m.copier.Stdout, m.copier.Stderr = &m.log, &m.log
	must(m.t, m.copier.Start())
	m.t.Cleanup(m.killCopier)
	eventually(m.t, "there is a copy", func() bool {
		files, err := filepath.Glob(filepath.Join(m.copies, "ltx", "0", "*.ltx"))
		return err == nil && len(files) > 0
	})
}

func (m *machineWithCopy) killCopier() {
	_ = m.copier.Process.Kill() // it may have exited
	_ = m.copier.Wait()
}

// restartPetcat kills petcat only. Litestream's unit stops with it, and starts after it.
func (m *machineWithCopy) restartPetcat() {
	m.t.Helper()
	m.n.kill()
	must(m.t, m.copier.Process.Signal(syscall.SIGTERM))
	_ = m.copier.Wait()
	m.start()
}

// lose kills both programs and removes the machine's data.
func (m *machineWithCopy) lose() {
	m.t.Helper()
	_ = m.n.process.Kill()
	m.killCopier()
	m.n.kill()
	must(m.t, os.RemoveAll(m.place))
}

// restore restores the copy onto a new machine.
func (m *machineWithCopy) restore(place string) {
	m.t.Helper()
	lost := filepath.Join(m.place, "petcat.db")
	cmd := exec.Command(m.litestream, "restore", "-config", m.config, "-o", m.restored, lost)
	if out, err := cmd.CombinedOutput(); err != nil {
		m.t.Fatalf("litestream restore: %v: %s", err, out)
	}
	petcat(m.t, place, "restore", m.restored)
}

// acknowledged is a create that a client saw succeed.
type acknowledged struct {
	category
	at time.Time
}

// load is creates by several clients, until the node is gone.
type load struct {
	mu      sync.Mutex
	made    []acknowledged // guarded by mu
	clients sync.WaitGroup
}

func (l *load) size() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.made)
}

// createUntilGone creates categories until a create fails.
func (l *load) createUntilGone(t *testing.T, client *http.Client, api string, k key, prefix string) {
	t.Helper()
	for w := range 4 {
		l.clients.Go(func() {
			for i := 0; ; i++ {
				a, err := createWithKey(client, api, k, fmt.Sprintf("%s-%d-%d", prefix, w, i))
				if err != nil || a.StatusCode != http.StatusCreated {
					return
				}
				x := acknowledged{at: time.Now()}
				a.decode(t, &x.category)
				l.mu.Lock()
				l.made = append(l.made, x)
				l.mu.Unlock()
			}
		})
	}
}

// createWithKey creates a category with its name as the Idempotency-Key.
func createWithKey(client *http.Client, api string, k key, name string) (*response, error) {
	body := strings.NewReader(fmt.Sprintf(`{"name":%q}`, name))
	return try(client, http.MethodPost, api+"/v1/categories", body, by(k.Key), header("Idempotency-Key", name))
}

// creates starts clients, waits for a number of creates, and calls end, which stops the node. It returns
// all acknowledged creates, and the time before the end.
func (m *machineWithCopy) creates(k key, prefix string, atLeast int, end func()) (made []acknowledged, ended time.Time) {
	m.t.Helper()
	client := newClient(m.t, &http.Transport{MaxIdleConnsPerHost: 100})
	var l load
	l.createUntilGone(m.t, client, m.n.api, k, prefix)
	eventually(m.t, "there are more categories", func() bool { return l.size() >= atLeast })
	setOutage(m.t, true, client)
	ended = time.Now()
	end()
	l.clients.Wait()
	return l.made, ended
}

// split returns the creates that a node has, and those that it lacks. The ones that it lacks must be the
// newest.
func split(t *testing.T, n *node, k key, all []acknowledged) (kept, lost []acknowledged) {
	t.Helper()
	has := make(map[string]int64)
	for _, c := range n.fresh(k.Key) {
		has[c.Name] = c.ID
	}
	newest := int64(0)
	for _, x := range all {
		if has[x.Name] == x.ID {
			kept = append(kept, x)
			newest = max(newest, x.ID)
		} else {
			lost = append(lost, x)
		}
	}
	for _, x := range lost {
		if x.ID < newest {
			t.Errorf("the create %d is lost, although %d is newer", x.ID, newest)
		}
	}
	return kept, lost
}

// datasetOf returns the name of the dataset at a place.
func datasetOf(t *testing.T, place string) string {
	t.Helper()
	return petcatJSON[struct{ Dataset string }](t, place, "verify").Dataset
}

// TestLitestream loses a machine PETCAT_LOSSES times under load, and restores it from the copy. At most the
// creates of the last moment are lost. Idempotency keys and the audit log go on, and the dataset has
// another name.
func TestLitestream(t *testing.T) {
	random := seeded(t)
	litestream := buildLitestream(t)
	place := directory(t)
	k := newKey(t, place, "acme", unlimited...)
	var all []acknowledged
	made, lostInAll, oldest := 0, 0, time.Duration(0)
	for loss := range int(envNumber(t, "PETCAT_LOSSES", 5)) {
		m := newMachineWithCopy(t, litestream, place)
		m.start()
		before, _ := m.creates(k, fmt.Sprint("before-", loss), 200+random.IntN(1000), m.restartPetcat)
		after, ended := m.creates(k, fmt.Sprint("after-", loss), 200+random.IntN(1000), m.lose)
		all = slices.Concat(all, before, after)
		made += len(before) + len(after)

		dataset := m.dataset
		place = directory(t)
		m.restore(place)
		petcat(t, place, "audit", "verify")
		if datasetOf(t, place) == dataset { // and petcat verify succeeds
			t.Errorf("the dataset is still %s", dataset)
		}
		n := serve(t, place)
		kept, lost := split(t, n, k, all)
		for _, x := range lost {
			oldest = max(oldest, ended.Sub(x.at))
			createAgain(t, n, k, x).want(t, http.StatusCreated)
		}
		last := kept[len(kept)-1]
		var replayed category
		createAgain(t, n, k, last).want(t, http.StatusCreated).decode(t, &replayed)
		if replayed.ID != last.ID {
			t.Errorf("the repeated create %d became %d", last.ID, replayed.ID)
		}
		t.Logf("loss %d: %d of %d creates lost", loss+1, len(lost), len(before)+len(after))
		n.stop()
		all, lostInAll = kept, lostInAll+len(lost)
	}
	t.Logf("%d creates acknowledged, %d lost, the oldest %s before the loss", made, lostInAll, oldest)
	// Litestream's two intervals are half a second. A busy machine gets more.
	if oldest > 3*time.Second {
		t.Errorf("a create of %s before the loss is lost", oldest)
	}
}

// createAgain repeats a create with its Idempotency-Key.
func createAgain(t *testing.T, n *node, k key, x acknowledged) *response {
	t.Helper()
	a, err := createWithKey(n.client, n.api, k, x.Name)
	must(t, err)
	return a
}
