// Package api contains the OpenAPI 3.1 document of the service. Integrators read it, clients are
// generated from it, and tests check every response against it.
//
// openapi.yaml is written by hand and is the source of truth. This package's tests generate
// openapi.json, the same document as JSON, and postman.json, a Postman collection, and compare the
// document with the domain. llms.txt is an overview for language models. All files are embedded,
// so a server always serves the document that it was tested with.
package api

import (
	"cmp"
	_ "embed" // for the documents
	"strings"
)

// defaultServer is the origin in the committed documents.
const defaultServer = "http://localhost:8080"

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

// YAML returns the document as YAML. publicURL is the origin of the service, such as
// https://pets.example; "" keeps the local default. The caller may modify the bytes.
func YAML(publicURL string) []byte { return withServer(yamlDocument, publicURL) }

// JSON returns the same document as JSON. See [YAML].
func JSON(publicURL string) []byte { return withServer(jsonDocument, publicURL) }

// Postman returns a Postman collection with a request for each operation. See [YAML].
func Postman(publicURL string) []byte { return withServer(postmanDocument, publicURL) }

// LLMs returns the page for language models, in the format of llmstxt.org. See [YAML].
func LLMs(publicURL string) []byte { return withServer(llmsDocument, publicURL) }

// Management returns the document of the management API as JSON. Its source is management.yaml.
func Management() []byte { return []byte(managementDocument) }

// withServer replaces the server. An origin does not need quotes or escapes in any of the formats.
func withServer(document, publicURL string) []byte {
	return []byte(strings.ReplaceAll(document, defaultServer, cmp.Or(publicURL, defaultServer)))
}
