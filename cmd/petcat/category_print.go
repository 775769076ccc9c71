package main

import (
	"strconv"

	"petcat/client"
)

// categoryJSON is a category as --json prints it. A list has no ETags.
type categoryJSON struct {
	ID          int64   `json:"id"`
	Name        string  `json:"name"`
	Description *string `json:"description"`
	ETag        string  `json:"etag,omitempty"`
}

func categoryDocument(c client.Category) categoryJSON {
	return categoryJSON{ID: c.ID, Name: c.Name, Description: nullable(c.Description), ETag: c.ETag}
}

// printCategory prints the category that a call returned, or returns the call's error.
func (p *program) printCategory(c client.Category, err error, asJSON bool) error {
	switch {
	case err != nil:
		return err
	case asJSON:
		return p.printJSON(categoryDocument(c))
	default:
		rows := [][]string{{"id", strconv.FormatInt(c.ID, 10)}, {"name", c.Name}, {"description", c.Description}}
		if c.ETag != "" {
			rows = append(rows, []string{"etag", c.ETag})
		}
		return p.printColumns(rows)
	}
}

// printCategories prints a list or a page of it; none is what it says of an empty one.
func (p *program) printCategories(list []client.Category, err error, asJSON bool, none string) error {
	if err != nil {
		return err
	}
	documents, rows := []categoryJSON{}, [][]string{}
	for _, c := range list {
		documents = append(documents, categoryDocument(c))
		rows = append(rows, []string{strconv.FormatInt(c.ID, 10), shortened(c.Name), shortened(c.Description)})
	}
	switch {
	case asJSON:
		return p.printJSON(documents)
	case len(rows) == 0:
		return p.say("%s", none)
	default:
		return p.printTable([]string{"ID", "NAME", "DESCRIPTION"}, rows)
	}
}

// shortened returns a text cut to the width of a table's column.
func shortened(text string) string {
	const most = 60 // characters
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return text
}
