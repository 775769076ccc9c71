package main

import (
	"errors"
	"fmt"

	"github.com/dustin/go-humanize"

	"petcat/client"
)

// importReport is the result of an import. Complete says that every row exists, except those
// that were refused.
type importReport struct {
	File     string        `json:"file"`
	Journal  string        `json:"journal"`
	Complete bool          `json:"complete"`
	Created  int           `json:"created"`
	Existing int           `json:"existing"` // created by earlier imports
	Found    int           `json:"found"`    // how many of Existing were found in the list
	Refused  []refusalJSON `json:"refused"`
	Seconds  float64       `json:"seconds"`

	refused int // how many rows were refused; Refused is filled only for --json
}

// refusalJSON is a row that was refused.
type refusalJSON struct {
	Line    int         `json:"line"`
	Code    client.Code `json:"code"` // of the API, or invalid_row if the row was not sent
	Message string      `json:"message"`
}

func (p *program) printImport(r importReport, asJSON, quiet bool) error {
	switch {
	case asJSON:
		return p.printJSON(r)
	case quiet:
		return nil
	}
	found := ""
	if r.Found > 0 {
		found = fmt.Sprintf(" (%s of them found in the list)", humanize.Comma(int64(r.Found)))
	}
	err := p.say("%s: %s created, %s existed already%s, %s refused.", r.File,
		counted(int64(r.Created), "row", "rows"), humanize.Comma(int64(r.Existing)), found, humanize.Comma(int64(r.refused)))
	if err != nil || r.Created == 0 {
		return err
	}
	return p.say("It took %.1f s, at %s/s.", r.Seconds, humanize.Comma(int64(float64(r.Created)/max(r.Seconds, 0.001))))
}

// verdict returns the error of the command. err is the error of its import.
func (r importReport) verdict(err error) error {
	if f, ok := errors.AsType[*failure](err); ok && f.code == exitTryLater {
		return &failure{code: f.code, text: f.text + "; the same command continues where this one ended", cause: err}
	}
	if err != nil || r.refused == 0 {
		return err
	}
	were, them := "were", "them"
	if r.refused == 1 {
		were, them = "was", "it"
	}
	return &failure{code: exitData, text: fmt.Sprintf("%s of %s %s refused; correct %s, and run the same command again: it creates nothing twice",
		counted(int64(r.refused), "row", "rows"), r.File, were, them)}
}
