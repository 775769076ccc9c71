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

// FuzzMask: however a password is spelled, escaped or not, it is not shown.
func FuzzMask(f *testing.F) {
	for _, seed := range []string{"hunter2", "1/hunter2", "1?hunter2", "1#hunter2", "hun@ter2", "hunter2%", "%41bcd", "a:b:c:d", "[::1]", "1/x?y=z&sslmode="} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, password string) {
		const around = "postgres://petcat:***@db.example:5432/pets?sslmode=require"
		if len(password) < 4 || strings.Contains(around, password) {
			return
		}
		got := mask(strings.Replace(around, "***", password, 1))
		if strings.Contains(got, password) {
			t.Fatalf("mask shows %q: %s", password, got)
		}
	})
}
