package management

import (
	"net/http"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/petcat-api/petcat"
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
	body := http.MaxBytesReader(c.w, c.r.Body, maxBody)
	if err := json.UnmarshalRead(body, into); err != nil {
		return petcat.Errorf(petcat.CodeInvalidBody,
			"the body must be a JSON object of at most %d bytes whose members are as /admin/docs says",
			maxBody).WithCause(err)
	}
	return nil
}
