// Package api holds the OpenAPI document of the service (OpenAPI 3.1): integrators
// read it, clients are generated from it, and tests check every response against it.
//
// openapi.yaml is written by hand and is the source of truth; openapi.json is the
// same document as JSON, and postman.json a Postman collection of its operations, both
// derived from it by this package's tests. llms.txt leads programs that read text to all
// of them. They are part of the binary, so a server always serves the document that it
// was built and tested with. The tests of this package compare the document with the
// domain. It depends on nothing that could be unavailable.
package api

import (
	_ "embed" // for the documents
	"encoding/json"
	"fmt"
	"strings"
)

// defaultServer is the address in the committed documents. In those of OpenAPI and
// Postman it stands exactly once.
const defaultServer = "http://localhost:8080/v1"

//go:generate go test . -run=FromTheYAML -update

//go:embed openapi.yaml
var yamlDocument string

//go:embed openapi.json
var jsonDocument string

//go:embed postman.json
var postmanDocument string

//go:embed llms.txt
var llmsDocument string

//go:embed management.json
var managementDocument string

// YAML returns the document as YAML. publicURL is the address under which the
// service is reached, without /v1, such as https://pets.example; "" leaves the
// address of a first local run. The caller may keep and change the bytes.
func YAML(publicURL string) []byte {
	return withServer(yamlDocument, defaultServer, publicURL)
}

// JSON returns the same document as JSON. See [YAML].
func JSON(publicURL string) []byte {
	return withServer(jsonDocument, `"`+defaultServer+`"`, publicURL)
}

// Postman returns a Postman collection with a request for each operation. See [YAML].
func Postman(publicURL string) []byte {
	return withServer(postmanDocument, `"`+defaultServer+`"`, publicURL)
}

// LLMs returns the page for language models, in the form of llmstxt.org. See [YAML].
func LLMs(publicURL string) []byte {
	if publicURL == "" {
		return []byte(llmsDocument)
	}
	local := strings.TrimSuffix(defaultServer, "/v1")
	return []byte(strings.ReplaceAll(llmsDocument, local, strings.TrimRight(publicURL, "/")))
}

// Management returns the document of the management API, as JSON. Its source is
// management.yaml.
func Management() []byte { return []byte(managementDocument) }

// withServer puts the service's address in the place of the scalar placeholder.
func withServer(document, placeholder, publicURL string) []byte {
	if publicURL == "" {
		return []byte(document)
	}
	server := strings.TrimRight(publicURL, "/") + "/v1"
	return []byte(strings.Replace(document, placeholder, quote(server), 1))
}

// quote returns s as a string that reads the same in JSON and in YAML. The two
// differ in the characters that they allow unescaped, so all but ASCII's and
// those above U+FFFF are escaped; the latter YAML cannot escape as JSON does.
func quote(s string) string {
	plain, err := json.Marshal(s)
	if err != nil { // encoding/json encodes every string
		panic(err)
	}
	var b strings.Builder
	for _, c := range string(plain) {
		if c >= 0x7f && c <= 0xffff {
			fmt.Fprintf(&b, `\u%04x`, c)
		} else {
			b.WriteRune(c)
		}
	}
	return b.String()
}
