package pages

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/web"
)

const (
	// maxQuery is the maximum size of a query in bytes.
	maxQuery = 4 << 10
	// strangersForm is the maximum size of a form without a session in bytes, enough for most forms.
	strangersForm = 4 << 10
	// maxFields is the maximum number of fields of a form and its query: each takes more memory than
	// its bytes.
	maxFields = 64
	// formMemory is the memory limit for all larger forms in flight in bytes, and formCost the
	// memory that a byte of a form takes.
	formMemory = 64 << 20
	formCost   = 4
)

var errTooManyFields = errors.New("the form has too many fields")

// readForm parses the query and a form of at most limit bytes. It needs a session if the limit is
// more than strangersForm.
func (x *Exchange) readForm(limit int64) error {
	if n := x.R.ContentLength; n >= 0 {
		limit = min(limit, n+1) // one more, so that a longer form is noticed
	}
	if limit > strangersForm {
		cost := limit * formCost
		if !x.site.forms.Take(x.Session.Subject(), cost) {
			return petcat.Errorf(petcat.CodeServiceUnavailable, "too many large forms are being sent; send it again in a moment")
		}
		x.formTaken = cost
	}
	text, err := io.ReadAll(http.MaxBytesReader(x.W, x.R.Body, limit))
	if err == nil && fields(x.R.URL.RawQuery)+fields(string(text)) > maxFields {
		err = errTooManyFields
	}
	if err == nil {
		x.R.Body = io.NopCloser(bytes.NewReader(text))
		err = x.R.ParseForm()
	}
	if err != nil {
		return petcat.Errorf(petcat.CodeInvalidField,
			"the form cannot be read: it is too long, or not encoded as a browser does").WithCause(err)
	}
	if err := web.CheckValues(x.R.Form); err != nil {
		x.R.Form = url.Values{} // a page must not show it again
		return err
	}
	return nil
}

// releaseForm returns the memory of the form.
func (x *Exchange) releaseForm() { x.site.forms.Release(x.Session.Subject(), x.formTaken) }

// fields returns the number of fields of an encoded form.
func fields(encoded string) int { return 1 + strings.Count(encoded, "&") }

// keptField is a field of a form that was sent after the session ended.
type keptField struct{ Name, Value string }

// endedView is a form that was sent after the session ended.
type endedView struct {
	Path    string
	TooLong bool // to be kept
	Fields  []keptField
}

// keepForm sends a page that has the fields of the form, and can send it again after the user has
// signed in.
func (x *Exchange) keepForm(fields []string) error {
	v := endedView{Path: x.R.URL.Path}
	if err := x.readForm(strangersForm); err != nil {
		v.TooLong = true
	}
	for _, name := range append([]string{"once"}, fields...) {
		if x.R.Form.Has(name) {
			v.Fields = append(v.Fields, keptField{Name: name, Value: x.R.Form.Get(name)})
		}
	}
	return x.renderAs(http.StatusForbidden, "session-expired", View{
		Title: "Your session has expired",
		Data:  v,
	})
}
