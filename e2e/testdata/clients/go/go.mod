// The client that TestGeneratedClients generates, builds and uses: a module of its own,
// so that what it needs is no dependency of petcat.
module client

go 1.26.0

require (
	github.com/oapi-codegen/nullable v1.1.0
	github.com/oapi-codegen/runtime v1.8.0
)

require (
	github.com/apapsch/go-jsonmerge/v2 v2.0.0 // indirect
	github.com/google/uuid v1.6.0 // indirect
)
