package main

import (
	"net/http"

	"petcat/api"
	"petcat/internal/reference"
)

// adminHandler serves operators: what only this machine sees by default.
func adminHandler(n *node) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", n.metrics.Handler())
	mux.HandleFunc("GET /livez", livez)
	mux.HandleFunc("GET /readyz", n.readyz)
	return mux
}

// documents are what the API's listener serves without a key.
func documents(publicURL string) map[string]http.Handler {
	page := reference.Handler()
	return map[string]http.Handler{
		"/openapi.json": document("application/json", api.JSON(publicURL)),
		"/openapi.yaml": document("application/yaml", api.YAML(publicURL)),
		"/docs":         page,
		"/docs/":        page,
		"/livez":        http.HandlerFunc(livez),
	}
}
