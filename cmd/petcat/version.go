package main

import (
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// Set by the linker: -ldflags "-X main.version=1.2.3 -X main.revision=...". The
// revision is set for releases, which are built without asking git.
var (
	version  = "dev"
	revision string //nolint:gochecknoglobals // the linker sets nothing else
)

// buildJSON says from what this binary was built.
type buildJSON struct {
	Version  string `json:"version"`
	Revision string `json:"revision"` // of the source; "" if unknown
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

// build returns the version that the linker set. Without one, as with go install, it returns
// what the go command recorded in the binary.
func build() buildJSON {
	b := buildJSON{Version: version, Revision: revision, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	if v := info.Main.Version; b.Version == "dev" && v != "" && v != "(devel)" {
		b.Version = v
	}
	modified := false
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Revision = s.Value
		case "vcs.modified":
			modified = s.Value == "true"
		}
	}
	if modified && b.Revision != "" {
		b.Revision += " with changes"
	}
	return b
}

func (p *program) versionCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "version",
		Short:   "Show the version of this program and what it was built with",
		GroupID: groupAbout,
		Args:    arguments(),
	}
	asJSON := jsonFlag(cmd)
	cmd.RunE = func(*cobra.Command, []string) error {
		b := build()
		if *asJSON {
			return p.printJSON(b)
		}
		rows := [][]string{{"version", b.Version}}
		if b.Revision != "" {
			rows = append(rows, []string{"revision", b.Revision})
		}
		return p.printColumns(append(rows, []string{"go", b.Go}, []string{"platform", b.Platform}))
	}
	return cmd
}
