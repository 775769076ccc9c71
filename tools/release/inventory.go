package main

import (
	"context"
	"debug/buildinfo"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

// licencesName is the file with the licences of all that a program is made of.
const licencesName = "LICENSES.txt"

// modules returns what programs are made of besides the standard library: the versions
// by path, as the programs themselves say.
func modules(programs ...string) (map[string]string, error) {
	versions := map[string]string{}
	for _, program := range programs {
		info, err := buildinfo.ReadFile(program)
		if err != nil {
			return nil, err
		}
		for _, dependency := range info.Deps {
			if dependency.Replace != nil {
				return nil, fmt.Errorf("%s is replaced: nobody else could build this", dependency.Path)
			}
			versions[dependency.Path] = dependency.Version
		}
	}
	return versions, nil
}

// inventories writes for each program what it is made of, in the format of CycloneDX:
// modules, their versions, and the version of Go.
func (r *release) inventories(context.Context) error {
	for _, p := range r.platforms {
		list, err := r.inventory(p)
		if err != nil {
			return err
		}
		err = writeFile(r.file(p, ".cdx.json"), func(w io.Writer) error {
			return cdx.NewBOMEncoder(w, cdx.BOMFileFormatJSON).SetPretty(true).Encode(list)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (r *release) inventory(p platform) (*cdx.BOM, error) {
	info, err := buildinfo.ReadFile(r.program(p))
	if err != nil {
		return nil, err
	}
	versions, err := modules(r.program(p))
	if err != nil {
		return nil, err
	}
	component := func(kind cdx.ComponentType, name, version string) cdx.Component {
		purl := fmt.Sprintf("pkg:golang/%s@%s", name, version)
		return cdx.Component{BOMRef: purl, Type: kind, Name: name, Version: version, PackageURL: purl}
	}
	own := component(cdx.ComponentTypeApplication, "petcat", r.version)
	own.Licenses = &cdx.Licenses{{License: &cdx.License{ID: "Apache-2.0"}}}
	own.Properties = &[]cdx.Property{{Name: "revision", Value: r.revision}, {Name: "platform", Value: p.system + "/" + p.architecture}}
	components := []cdx.Component{component(cdx.ComponentTypeLibrary, "std", strings.TrimPrefix(info.GoVersion, "go"))}
	for _, path := range slices.Sorted(maps.Keys(versions)) {
		components = append(components, component(cdx.ComponentTypeLibrary, path, versions[path]))
	}
	refs := make([]string, 0, len(components))
	for _, c := range components {
		refs = append(refs, c.BOMRef)
	}
	list := cdx.NewBOM()
	list.Metadata = &cdx.Metadata{Timestamp: r.when.Format(time.RFC3339), Component: &own}
	list.Components = &components
	list.Dependencies = &[]cdx.Dependency{{Ref: own.BOMRef, Dependencies: &refs}}
	return list, nil
}

// licences collects the licences of all modules in the programs, which ask to be told
// wherever they go.
func (r *release) licences(ctx context.Context) error {
	programs := make([]string, 0, len(r.platforms))
	for _, p := range r.platforms {
		programs = append(programs, r.program(p))
	}
	versions, err := modules(programs...)
	if err != nil {
		return err
	}
	toolchain, err := output(ctx, r.root, "go", "env", "GOROOT")
	if err != nil {
		return err
	}
	var text strings.Builder
	text.WriteString("petcat is licensed under the Apache License 2.0. It contains the following, under their own licences.\n")
	if err := addLicences(&text, "The standard library of Go", toolchain); err != nil {
		return err
	}
	if err := addLicences(&text, "Swagger UI", filepath.Join(r.root, "internal", "reference", "assets")); err != nil {
		return err
	}
	if err := addLicences(&text, "The console's scripts", filepath.Join(r.root, "internal", "console", "assets")); err != nil {
		return err
	}
	for _, path := range slices.Sorted(maps.Keys(versions)) {
		folder, err := output(ctx, r.root, "go", "list", "-m", "-f", "{{.Dir}}", path)
		if err != nil {
			return err
		}
		if err := addLicences(&text, path+" "+versions[path], folder); err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(r.stage, licencesName), []byte(text.String()), 0o644)
}

// addLicences appends what a folder has of licences. There is one at least.
func addLicences(text *strings.Builder, what, folder string) error {
	names, err := filepath.Glob(filepath.Join(folder, "*"))
	if err != nil {
		return err
	}
	found := false
	for _, name := range names {
		base := strings.ToUpper(filepath.Base(name))
		if !strings.Contains(base, "LICENSE") && !strings.HasPrefix(base, "LICENCE") && !strings.HasPrefix(base, "COPYING") && !strings.HasPrefix(base, "NOTICE") {
			continue
		}
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		fmt.Fprintf(text, "\n---- %s: %s\n\n%s\n", what, filepath.Base(name), strings.TrimSpace(string(data)))
		found = true
	}
	if !found {
		return errors.New("there is no licence of " + what + " in " + folder)
	}
	return nil
}
