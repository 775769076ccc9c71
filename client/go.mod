module petcat/client

go 1.24
