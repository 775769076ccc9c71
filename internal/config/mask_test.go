package config

import (
	"strings"
	"testing"
)

func TestMask(t *testing.T) {
	for _, c := range []struct{ name, address, want string }{
		{"none", "", ""},
		{"sqlite", "sqlite", "sqlite"},
		{"memory", "memory", "memory"},
		{"password", "postgres://petcat:hunter2@db:5432/petcat?sslmode=verify-full", "postgres://petcat:***@db:5432/petcat?sslmode=verify-full"},
		{"no password", "postgres://db/petcat", "postgres://db/petcat"},
		{"password alone", "redis://:hunter2@cache:6379/0", "redis://:***@cache:6379/0"},
		{"name that may be a password", "redis://hunter2@cache", "redis://***@cache"},
		{"password in the query", "postgres://db/petcat?user=u&password=hunter2&sslmode=require", "postgres://db/petcat?user=***&password=***&sslmode=require"},
		{"bare query", "postgres://db/petcat?hunter2", "postgres://db/petcat?***"},
		{"fragment", "redis://cache#hunter2", "redis://cache#***"},
		{"@ in the password", "postgres://u:hun@ter2@db/p", "***"},
		{"/ in the password", "postgres://u:1/hunter2@db/p", "***"},
		{"? in the password", "postgres://u:1?hunter2@db/p", "***"},
		{"# in the password", "postgres://u:1#hunter2@db/p", "***"},
		{"% in the password", "postgres://u:hunter2%@db/p", "***"},
		{"keywords", "host=db password=hunter2", "***"},
		{"nonsense", "hunter2", "***"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := mask(c.address)
			if got != c.want {
				t.Errorf("mask(%q) = %q; want %q", c.address, got, c.want)
			}
			if strings.Contains(got, "hunter2") || strings.Contains(got, "ter2") {
				t.Errorf("mask(%q) shows the password: %q", c.address, got)
			}
		})
	}
}
