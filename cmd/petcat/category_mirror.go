package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	client "github.com/petcat-api/petcat/client"
)

func (p *program) categoryMirrorCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "mirror FILE",
		Short: "Bring a copy of all categories up to date",
		Long: `Bring a copy of all categories up to date. FILE is JSON with the members
categories and bookmark; the next run needs both. The first run creates it. A
run takes one request, plus one per 1,000 changes. FILE is replaced only when
the new copy is complete.`,
		Example: `  petcat category mirror categories.json
  jq -r '.categories[].name' categories.json`,
	}
	completeFiles(cmd)
	urlFlag(cmd)
	quietFlag(cmd)
	return p.printing(cmd, mirrorCategories)
}

func mirrorCategories(c *call) error {
	defer interruptible(c.cmd)()
	path := c.args[0]
	if path == dash {
		return usageErrorf("the copy must be a file, because the next run continues it; name one")
	}
	api, service, err := c.dial()
	if err != nil {
		return err
	}
	mirror := api.Categories.NewMirror()
	before, err := loadMirror(mirror, path)
	if err != nil {
		return err
	}
	out, err := c.openOutput(path, true, c.asJSON)
	if err != nil {
		return err
	}
	defer out.discard()
	changed, err := mirror.Refresh(c.ctx())
	if err != nil {
		return explainAPI(err, service)
	}
	var after bytes.Buffer
	if err := mirror.Save(&after); err != nil {
		return err
	}
	if !bytes.Equal(after.Bytes(), before) {
		if _, err := out.Write(after.Bytes()); err != nil {
			return err
		}
		if err := out.keep(); err != nil {
			return err
		}
	}
	if c.is("quiet") && !c.asJSON {
		return nil
	}
	count := len(mirror.Categories())
	text := "%s has %s; nothing has changed."
	if changed {
		text = "%s has %s, and has changed."
	}
	return c.print(record{
		kv("file", path),
		kv("categories", count),
		kv("changed", changed),
	}, text, path, counted(int64(count), "category", "categories"))
}

// loadMirror loads the file of an earlier run, if there is one, and returns its content.
func loadMirror(m *client.Mirror, path string) ([]byte, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%s cannot be read: %w", path, reason(err))
	}
	if err := m.Load(bytes.NewReader(text)); err != nil {
		return nil, &failure{
			code:  exitData,
			text:  path + " is not a copy that this command has written; delete it, or name another file",
			cause: err,
		}
	}
	return text, nil
}
