package management

import (
	"bytes"
	"io"
	"net/http"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/web"
)

// maxBody is the maximum size of a body in bytes. No valid body comes close.
const maxBody = 64 << 10

// read decodes the body, a JSON object. Unknown members are ignored. No body is the same as {}.
func (c *call) read(into any) error {
	if c.r.ContentLength == 0 {
		return nil
	}
	media := strings.ToLower(c.r.Header.Get("Content-Type"))
	if media != "" && !strings.HasPrefix(media, "application/json") {
		return petcat.Errorf(petcat.CodeUnsupportedMediaType, "send the body as application/json")
	}
	body, err := io.ReadAll(http.MaxBytesReader(c.w, c.r.Body, maxBody))
	if err == nil {
		err = json.Unmarshal(body, into)
	}
	if err != nil {
		return petcat.Errorf(petcat.CodeInvalidBody,
			"the body must be a JSON object of at most %d bytes whose members are as /admin/docs says",
			maxBody).WithCause(err)
	}
	return checkStrings(body)
}

// checkStrings is [web.CheckText] for all strings of a valid JSON text.
func checkStrings(text []byte) error {
	decoder := jsontext.NewDecoder(bytes.NewReader(text))
	for {
		token, err := decoder.ReadToken()
		if err != nil { // the end
			return nil //nolint:nilerr // the text is valid
		}
		if token.Kind() != '"' {
			continue
		}
		if err := web.CheckText(token.String()); err != nil {
			return err
		}
	}
}
