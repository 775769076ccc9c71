package logging_test

import (
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"testing"

	"petcat"
	"petcat/internal/logging"
)

// No key is ever in the log, wherever it came from.
func TestKeysAreMasked(t *testing.T) {
	for _, env := range []petcat.Environment{petcat.Production, petcat.Staging} {
		g, err := petcat.GenerateKey(env, rand.NewChaCha8([32]byte{7}))
		must(t, err)
		key := g.Secret.Reveal()
		random := key[9:]
		for name, write := range map[string]func(*logging.Log){
			"message": func(l *logging.Log) {
				l.Info("the key is " + key) //nolint:sloglint // just what nobody should do
			},
			"attribute":        func(l *logging.Log) { l.Info("m", "k", key) },
			"error":            func(l *logging.Log) { l.Error("m", "error", fmt.Errorf("lookup: %w", errors.New(key))) },
			"group":            func(l *logging.Log) { l.Info("m", slog.Group("g", "k", key)) },
			"name of a group":  func(l *logging.Log) { l.WithGroup(key).Info("m", "k", 1) },
			"any":              func(l *logging.Log) { l.Info("m", "k", struct{ A []string }{[]string{key}}) },
			"header":           func(l *logging.Log) { l.Info("m", "k", map[string][]string{"Authorization": {"Bearer " + key}}) },
			"two run together": func(l *logging.Log) { l.Info("m", "k", key+key) },
			"after half a key": func(l *logging.Log) { l.Info("m", "k", "pck_"+key) },
			"path":             func(l *logging.Log) { l.Access(&logging.Access{Path: "/v1/" + key}) },
			"method":           func(l *logging.Log) { l.Access(&logging.Access{Method: key}) },
			"cut off":          func(l *logging.Log) { l.Access(&logging.Access{Path: key[:20]}) },
			"with line breaks around": func(l *logging.Log) {
				l.Info("a\n" + key + "\nb") //nolint:sloglint // just what nobody should do
			},
		} {
			for _, format := range formats() {
				t.Run(fmt.Sprintf("%s/%s/%s", env, name, format), func(t *testing.T) {
					var s sink
					log := logging.New(&s, slog.LevelInfo, format)
					write(log)
					must(t, log.Close())
					text := s.text()
					for i := range len(random) - 4 {
						if strings.Contains(text, random[i:i+4]) {
							t.Fatalf("part of the key is in the log: %s", text)
						}
					}
					if !strings.Contains(text, "pck_") || !strings.Contains(text, "**") {
						t.Errorf("the log does not say that there was a key: %s", text)
					}
					for _, line := range s.lines() {
						if format == logging.JSON {
							fields(t, line)
						}
					}
				})
			}
		}
	}
}
