// Command templates formats html/template files: one element or action a line, indented by tabs, in
// lines of at most 120 columns where the text allows. Pages look the same afterwards: it adds and
// removes white space only where browsers ignore it.
//
//	templates FILE...         rewrite the files
//	templates -check FILE...  list the files whose format differs, and exit with 1 if there are any
package main

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"os"
)

func main() {
	check := flag.Bool("check", false, "change nothing; exit with 1 if the format of a file differs")
	flag.Parse()
	os.Exit(run(os.Stdout, os.Stderr, *check, flag.Args())) //nolint:forbidigo // the end of the program
}

// run formats or checks files. It returns the exit code.
func run(stdout, stderr io.Writer, check bool, names []string) (code int) {
	for _, name := range names {
		changed, err := formatFile(name, check)
		if err != nil {
			_, _ = fmt.Fprintf(stderr, "templates: %s: %v\n", name, err)
			code = 1
		}
		if changed {
			_, _ = fmt.Fprintln(stdout, name)
		}
		if changed && check {
			code = 1
		}
	}
	return code
}

// formatFile formats a file. With check, it only reports whether the file would change.
func formatFile(name string, check bool) (changed bool, err error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return false, err
	}
	formatted, err := Format(string(text))
	if err != nil {
		return false, err
	}
	if bytes.Equal(text, []byte(formatted)) {
		return false, nil
	}
	if check {
		return true, nil
	}
	return true, os.WriteFile(name, []byte(formatted), 0o644) //nolint:gosec // a source file
}

// Format formats the text of a template.
func Format(text string) (string, error) {
	before, err := parse(text)
	if err != nil {
		return "", err
	}
	formatted := before.format()
	after, err := parse(formatted)
	if err != nil {
		return "", fmt.Errorf("the formatted text is invalid: %w", err)
	}
	return formatted, compare(before, after)
}
