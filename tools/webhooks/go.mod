module github.com/petcat-api/petcat/tools/webhooks

go 1.26.0

require (
	github.com/petcat-api/petcat/client v0.0.0
	github.com/standard-webhooks/standard-webhooks/libraries v0.0.1
)

replace github.com/petcat-api/petcat/client => ../../client
