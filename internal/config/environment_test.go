package config

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestUnknownVariables(t *testing.T) {
	got := UnknownVariables([]string{
		"HOME=/root", "PETCAT_LISEN=:80", "PETCAT_DATA=x", "PETCAT_DATABASE_FILE=x", "PETCAT_DATA_FILE=x", "PETCAT_API_KEY=x", "PETCAT_API_KEY_FILE=x", "PETCAT_URL=x",
		"PETCAT_PORT=tcp://10.0.0.1:80", "PETCAT_PORT_8080_TCP_ADDR=10.0.0.1", "PETCAT_SERVICE_HOST=10.0.0.1",
		"PETCAT_SERVICE_PORT_HTTP=80", "PETCAT_ADMIN_PORT=tcp://10.0.0.1:80", "PETCAT_TCP_PORT=1", "PETCAT_=",
	})
	if diff := cmp.Diff([]string{"PETCAT_", "PETCAT_DATA_FILE", "PETCAT_LISEN"}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
