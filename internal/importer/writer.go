package importer

import (
	"bufio"
	"encoding/csv"
	"fmt"
	"io"
	"iter"
	"strconv"

	"github.com/go-json-experiment/json"

	client "petcat/client"
)

// Write writes a list in a format, and calls written after each category.
func Write(w io.Writer, f Format, list iter.Seq2[client.Category, error], written func()) error {
	out := bufio.NewWriter(w)
	table := csv.NewWriter(out) // has no other buffer
	begin, end := map[Format]string{CSV: "id,name,description\n", JSON: "["}[f], map[Format]string{JSON: "\n]\n"}[f]
	_, _ = out.WriteString(begin) // Flush has the same error
	separator := ""
	for c, err := range list {
		if err != nil {
			return err
		}
		row, err := json.Marshal(c)
		switch {
		case err != nil:
		case f == CSV:
			err = table.Write([]string{strconv.FormatInt(c.ID, 10), c.Name, c.Description})
		case f == JSON:
			_, err = fmt.Fprintf(out, "%s\n%s", separator, row)
			separator = ","
		default:
			_, err = fmt.Fprintf(out, "%s\n", row)
		}
		if err != nil {
			return err
		}
		written()
	}
	_, _ = out.WriteString(end)
	return out.Flush()
}
