package backup

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
)

// A row is its kind in one byte and then its values: integers as signed varints,
// booleans as one byte, texts and bytes after their length; before what may be
// nil stands a byte that says whether it is there. A kind of 0 ends the rows.

// maxValue is the longest text that is read: many times the longest that the
// domain lets in. Without it a damaged length would ask for all memory.
const maxValue = 1 << 20

// appendRow encodes a row.
func appendRow(to []byte, k Kind, columns []Column, values []any) ([]byte, error) {
	if len(columns) == 0 || len(values) != len(columns) {
		return nil, fmt.Errorf("backup: a row of %s has %d values", k, len(values))
	}
	to = append(to, byte(k))
	for i, c := range columns {
		if c.Optional {
			to = append(to, boolByte(values[i] != nil))
			if values[i] == nil {
				continue
			}
		}
		var ok bool
		switch v := values[i].(type) {
		case int64:
			to, ok = binary.AppendVarint(to, v), c.Type == Integer
		case string:
			to, ok = append(binary.AppendUvarint(to, uint64(len(v))), v...), c.Type == Text && len(v) <= maxValue
		case []byte:
			to, ok = append(binary.AppendUvarint(to, uint64(len(v))), v...), c.Type == Bytes && len(v) <= maxValue
		case bool:
			to, ok = append(to, boolByte(v)), c.Type == Boolean
		}
		if !ok {
			return nil, fmt.Errorf("backup: %s of %s cannot be a %T", c.Name, k, values[i])
		}
	}
	return to, nil
}

func boolByte(b bool) byte {
	if b {
		return 1
	}
	return 0
}

// readRow decodes the values that follow a row's kind, in a file of some format.
func readRow(from *bufio.Reader, format int, columns []Column, values []any) error {
	for i, c := range columns {
		values[i] = nil
		if c.Since > format {
			if !c.Optional {
				values[i] = zero(c.Type)
			}
			continue
		}
		if c.Optional {
			if there, err := readBool(from); err != nil {
				return err
			} else if !there {
				continue
			}
		}
		var err error
		switch c.Type {
		case Integer:
			values[i], err = binary.ReadVarint(from)
		case Boolean:
			values[i], err = readBool(from)
		case Text:
			var text []byte
			text, err = readBytes(from)
			values[i] = string(text)
		case Bytes:
			values[i], err = readBytes(from)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func zero(t Type) any {
	switch t {
	case Integer:
		return int64(0)
	case Boolean:
		return false
	case Text:
		return ""
	default:
		return []byte{}
	}
}

func readBool(from io.ByteReader) (bool, error) {
	b, err := from.ReadByte()
	if err == nil && b > 1 {
		err = fmt.Errorf("%d is neither true nor false", b)
	}
	return b == 1, err
}

func readBytes(from *bufio.Reader) ([]byte, error) {
	n, err := binary.ReadUvarint(from)
	if err != nil {
		return nil, err
	}
	if n > maxValue {
		return nil, fmt.Errorf("a value of %d bytes", n)
	}
	b := make([]byte, n)
	_, err = io.ReadFull(from, b)
	return b, err
}
