package importer

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"strconv"
	"strings"
)

// content identifies the content of a row. It is half of a SHA-256, so no two contents have
// the same one.
type content [16]byte

func contentOf(name, description string) content {
	h := sha256.New()
	for _, field := range []string{name, description} {
		var size [8]byte
		binary.BigEndian.PutUint64(size[:], uint64(len(field)))
		h.Write(size[:])
		h.Write([]byte(field))
	}
	return content(h.Sum(nil))
}

// rowID identifies a row of a file: by its content, and by its number among the rows with
// the same content. It does not depend on the line.
type rowID struct {
	content content
	number  int // from 1
}

// String returns the content in hexadecimal, and a number that is not 1.
func (id rowID) String() string {
	text := hex.EncodeToString(id.content[:])
	if id.number != 1 {
		text += "-" + strconv.Itoa(id.number)
	}
	return text
}

func parseRowID(text string) (id rowID, ok bool) {
	digits, number, numbered := strings.Cut(text, "-")
	if id.number = 1; numbered {
		id.number, _ = strconv.Atoi(number) // the comparison below fails if it is no number
	}
	if sum, err := hex.DecodeString(digits); err == nil && len(sum) == len(id.content) {
		id.content = content(sum)
	}
	return id, id.number > 0 && id.String() == text
}

// counter gives the rows of a file their ids, from the first row on.
type counter map[content]int

func (c counter) next(name, description string) rowID {
	says := contentOf(name, description)
	c[says]++
	return rowID{content: says, number: c[says]}
}
