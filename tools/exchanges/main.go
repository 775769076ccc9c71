// Command exchanges validates recorded requests and responses against the OpenAPI document
// with libopenapi-validator. Tests that use internal/apicheck record them in the file
// PETCAT_EXCHANGES, if set. All responses and all accepted requests must be valid.
//
//	exchanges api/openapi.yaml build/exchanges.jsonl
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"

	"github.com/pb33f/libopenapi"
	validator "github.com/pb33f/libopenapi-validator"
	"github.com/pb33f/libopenapi-validator/config"
	validation "github.com/pb33f/libopenapi-validator/errors"
)

// exchange is a line of the recording.
type exchange struct {
	Method, URL    string
	Header         http.Header
	Body           []byte
	Status         int
	ResponseHeader http.Header
	ResponseBody   []byte
}

// falseAlarms are parts of the validator's wrong messages: JSON numbers have no range, and a
// repeated parameter of a media type does not change the type.
var falseAlarms = []string{"cannot unmarshal number", "a=1; a=2"}

func main() {
	requests, responses, invalid, err := run(os.Args[1], os.Args[2])
	if err != nil {
		fmt.Fprintln(os.Stderr, "exchanges:", err)
		os.Exit(2)
	}
	fmt.Printf("%d requests and %d responses; %d are invalid\n", requests, responses, invalid)
	if invalid > 0 || responses == 0 {
		os.Exit(1)
	}
}

// run validates the exchanges of a recording, and prints the problems.
func run(document, recording string) (requests, responses, invalid int, err error) {
	v, err := load(document)
	if err != nil {
		return 0, 0, 0, err
	}
	file, err := os.Open(recording)
	if err != nil {
		return 0, 0, 0, err
	}
	for lines := json.NewDecoder(file); ; {
		var x exchange
		if err := lines.Decode(&x); errors.Is(err, io.EOF) {
			return requests, responses, invalid, nil
		} else if err != nil {
			return 0, 0, 0, err
		}
		if x.Status < http.StatusBadRequest {
			requests++
			if _, problems := v.ValidateHttpRequestSync(x.request()); x.report("request", problems) {
				invalid++
			}
		}
		responses++
		if _, problems := v.ValidateHttpResponse(x.request(), x.response()); x.report("response", problems) {
			invalid++
		}
	}
}

// load reads a document and checks that it is valid.
func load(name string) (validator.Validator, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	document, err := libopenapi.NewDocument(text)
	if err != nil {
		return nil, err
	}
	v, problems := validator.NewValidator(document, config.WithFormatAssertions())
	if len(problems) > 0 {
		return nil, errors.Join(problems...)
	}
	if _, problems := v.ValidateDocument(); len(problems) > 0 {
		return nil, errors.New(reasons(problems[0]))
	}
	return v, nil
}

func (x *exchange) request() *http.Request {
	r, err := http.NewRequest(x.Method, "http://localhost:8080"+x.URL, bytes.NewReader(x.Body))
	if err != nil {
		panic(err) // a test has sent this request
	}
	r.Header = x.Header.Clone()
	// Content-Type is optional, which OpenAPI cannot express.
	if len(x.Body) > 0 && r.Header.Get("Content-Type") == "" {
		r.Header.Set("Content-Type", "application/json")
	}
	return r
}

func (x *exchange) response() *http.Response {
	return &http.Response{StatusCode: x.Status, Header: x.ResponseHeader, Body: io.NopCloser(bytes.NewReader(x.ResponseBody))}
}

// report prints problems. It reports whether there are any.
func (x *exchange) report(what string, problems []*validation.ValidationError) (found bool) {
	for _, p := range problems {
		text := reasons(p)
		falseAlarm := false
		for _, part := range falseAlarms {
			falseAlarm = falseAlarm || strings.Contains(text, part)
		}
		if !falseAlarm {
			found = true
			fmt.Printf("%s %s: %d: %s: %s\n", x.Method, x.URL, x.Status, what, text)
		}
	}
	return found
}

func reasons(p *validation.ValidationError) string {
	text := p.Message + ": " + p.Reason
	for _, e := range p.SchemaValidationErrors {
		text += "; " + e.Reason
	}
	return text
}
