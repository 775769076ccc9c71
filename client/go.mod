module github.com/petcat-api/petcat/client

go 1.24
