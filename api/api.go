// Package api contains the OpenAPI 3.1 document of the service. Integrators read it, clients are
// generated from it, and tests check every response against it.
//
// openapi.yaml is written by hand and is the source of truth. The tests of this package generate
// openapi.json, the same document as JSON, and postman.json, a Postman collection, and compare the
// document with the domain. llms.txt is an overview for language models. All files are embedded,
// so a server always serves the document that it was tested with.
package api

import (
	_ "embed" // for the documents
	"encoding/json"
	"fmt"
	"strings"
)

// defaultServer is the URL in the committed documents. openapi.* and postman.json contain it exactly
// once.
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

// YAML returns the document as YAML. publicURL is the URL of the service without /v1, such as
// https://pets.example; "" keeps the local default. The caller may modify the bytes.
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

// LLMs returns the page for language models, in the format of llmstxt.org. See [YAML].
func LLMs(publicURL string) []byte {
	if publicURL == "" {
		return []byte(llmsDocument)
	}
	local := strings.TrimSuffix(defaultServer, "/v1")
	return []byte(strings.ReplaceAll(llmsDocument, local, strings.TrimRight(publicURL, "/")))
}

// Management returns the document of the management API as JSON. Its source is management.yaml.
func Management() []byte { return []byte(managementDocument) }

// withServer replaces the scalar placeholder with the URL of the service.
func withServer(document, placeholder, publicURL string) []byte {
	if publicURL == "" {
		return []byte(document)
	}
	server := strings.TrimRight(publicURL, "/") + "/v1"
	return []byte(strings.Replace(document, placeholder, quote(server), 1))
}

// quote returns s as a string literal for both JSON and YAML. They allow different unescaped
// characters, so quote escapes all characters except ASCII and those above U+FFFF, which YAML cannot
// escape in the way of JSON.
func quote(s string) string {
	plain, err := json.Marshal(s)
	if err != nil { // cannot fail for a string
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
