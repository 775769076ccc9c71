package main

import (
	"archive/tar"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

// images returns what the image archive holds, by architecture.
func images(t *testing.T, r *release) map[string]v1.Image {
	t.Helper()
	folder := t.TempDir()
	if out, err := exec.CommandContext(t.Context(), "tar", "-xf", r.imageFile(), "-C", folder).CombinedOutput(); err != nil {
		t.Fatalf("tar: %v: %s", err, out)
	}
	outer, err := layout.ImageIndexFromPath(folder)
	must(t, err)
	list, err := outer.IndexManifest()
	must(t, err)
	if len(list.Manifests) != 1 || list.Manifests[0].Annotations["org.opencontainers.image.ref.name"] != r.version {
		t.Fatalf("the archive holds %+v, want one image of this version", list.Manifests)
	}
	index, err := outer.ImageIndex(list.Manifests[0].Digest)
	must(t, err)
	must(t, validate.Index(index))
	manifest, err := index.IndexManifest()
	must(t, err)
	found := map[string]v1.Image{}
	for _, m := range manifest.Manifests {
		image, err := index.Image(m.Digest)
		must(t, err)
		found[m.Platform.Architecture] = image
	}
	return found
}

// TestImage: it is for each platform of Linux, contains nothing but the program, its
// directory and the authorities, and does not run as root.
func TestImage(t *testing.T) {
	r := mustBuild(t)[0]
	found := images(t, r)
	if len(found) != 2 || found["amd64"] == nil || found["arm64"] == nil {
		t.Fatalf("the image is for %v", found)
	}
	for architecture, image := range found {
		t.Run(architecture, func(t *testing.T) {
			file, err := image.ConfigFile()
			must(t, err)
			c := file.Config
			if file.Architecture != architecture || file.OS != "linux" || !file.Created.Equal(r.when) {
				t.Errorf("it is for %s/%s, of %s", file.OS, file.Architecture, file.Created)
			}
			if c.User != "65532:65532" || strings.Join(c.Entrypoint, " ") != "/petcat" || strings.Join(c.Cmd, " ") != "serve" || c.Shell != nil {
				t.Errorf("it runs %q %q as %q", c.Entrypoint, c.Cmd, c.User)
			}
			if c.Healthcheck == nil || strings.Join(c.Healthcheck.Test, " ") != "CMD /petcat health" || c.Healthcheck.Retries != 3 {
				t.Errorf("its health is checked by %+v", c.Healthcheck)
			}
			if strings.Join(c.Env, " ") != "PETCAT_DATA=/data" || c.StopSignal != "SIGTERM" || len(c.ExposedPorts) != 2 {
				t.Errorf("it has %q, %q, %v", c.Env, c.StopSignal, c.ExposedPorts)
			}
			wantFiles(t, image)
		})
	}
}

func wantFiles(t *testing.T, image v1.Image) {
	t.Helper()
	type about struct {
		mode int64
		user int
	}
	want := map[string]about{
		"petcat": {0o755, 0}, "data": {0o700, 65532}, "etc/ssl/certs/ca-certificates.crt": {0o644, 0},
	}
	files := mutate.Extract(image)
	defer func() { _ = files.Close() }()
	for archive := tar.NewReader(files); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		must(t, err)
		name := strings.TrimSuffix(header.Name, "/")
		if got := (about{header.Mode, header.Uid}); got != want[name] || header.Uid != header.Gid {
			t.Errorf("it contains %s, %+v; want %+v", name, got, want[name])
		}
		delete(want, name)
	}
	if len(want) > 0 {
		t.Errorf("it lacks %v", want)
	}
}

// TestImageRuns: the program finds all that it needs in the image, when nothing but /data
// can be written and it is nobody.
func TestImageRuns(t *testing.T) {
	if runtime.GOOS != "linux" || os.Geteuid() != 0 {
		t.Skip("it mounts the image, which takes root on Linux")
	}
	image := images(t, mustBuild(t)[0])[runtime.GOARCH]
	folder := t.TempDir()
	unpacking := exec.CommandContext(t.Context(), "tar", "-x", "-p", "--same-owner", "-C", folder)
	files := mutate.Extract(image)
	defer func() { _ = files.Close() }()
	unpacking.Stdin = files
	if out, err := unpacking.CombinedOutput(); err != nil {
		t.Fatalf("tar: %v: %s", err, out)
	}
	inside := exec.CommandContext(t.Context(), find(t, "unshare", "util-linux"), "--mount", "--net", "sh", "-ec", `
		ip link set lo up
		mount --bind "$0" "$0"
		mount --bind "$0/data" "$0/data"
		mount -o remount,bind,ro "$0"
		export PETCAT_DATA=/data
		chroot --userspec=65532:65532 "$0" /petcat serve --log-format json >"$1" 2>&1 &
		for i in $(seq 100); do
			if chroot --userspec=65532:65532 "$0" /petcat health; then break; fi
			sleep 0.2
		done
		chroot --userspec=65532:65532 "$0" /petcat account create acme --plan free
		kill -TERM $!
		wait $!
		echo ended well`, folder, filepath.Join(t.TempDir(), "log"))
	inside.Env = []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin"}
	if out, err := inside.CombinedOutput(); err != nil || !strings.HasSuffix(string(out), "ended well\n") {
		t.Errorf("%v: %s", err, out)
	}
	if _, err := os.Stat(filepath.Join(folder, "data", "petcat.db")); err != nil {
		t.Error(err)
	}
}

func TestAuthorities(t *testing.T) {
	count := 0
	for rest := authorities(); ; count++ {
		block, after := pem.Decode(rest)
		if block == nil {
			break
		}
		if _, err := x509.ParseCertificate(block.Bytes); err != nil {
			t.Error(err)
		}
		rest = after
	}
	if pool := x509.NewCertPool(); !pool.AppendCertsFromPEM(authorities()) || count < 100 {
		t.Errorf("there are %d authorities", count)
	}
}

// TestDockerfileThatIsNotKnown: what the image cannot follow is refused, not ignored.
func TestDockerfileThatIsNotKnown(t *testing.T) {
	for text, want := range map[string]string{
		"FROM golang\nRUN x\n":                     "does not end with an image from scratch",
		"FROM scratch\nVOLUME /data\n":             "not known here",
		"FROM scratch\nCOPY --chown=1:2 a /b\n":    "the group the same",
		"FROM scratch\nCOPY a b /c\n":              "one path",
		"FROM scratch\nHEALTHCHECK --x=1 CMD []\n": "--x is not known",
		"FROM scratch\nCMD serve\n":                "invalid character",
	} {
		name := filepath.Join(t.TempDir(), "Dockerfile")
		must(t, os.WriteFile(name, []byte(text), 0o644))
		if _, _, err := readDockerfile(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	config, copies, err := readDockerfile("../../deploy/docker/Dockerfile")
	must(t, err)
	if len(copies) != 3 || config.User == "" {
		t.Errorf("the Dockerfile says %+v, %+v", config, copies)
	}
}
