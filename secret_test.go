package petcat_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"text/template"

	"github.com/petcat-api/petcat"
)

// planted is the secret text.
const planted = "the-planted-text"

// holder has a secret where package fmt cannot call its methods.
type holder struct {
	Shown  petcat.Secret
	hidden petcat.Secret
	deep   map[string][]petcat.Secret
}

func newHolder() holder {
	s := petcat.NewSecret(planted)
	return holder{Shown: s, hidden: s, deep: map[string][]petcat.Secret{"k": {s}}}
}

func TestSecretIsHidden(t *testing.T) {
	s, h := petcat.NewSecret(planted), newHolder()
	values := map[string]any{
		"secret": s, "pointer": &s, "slice": []petcat.Secret{s}, "map": map[string]petcat.Secret{"k": s},
		"holder": h, "pointer to holder": &h, "slice of holders": []holder{h},
	}
	for name, value := range values {
		t.Run(name, func(t *testing.T) {
			for _, verb := range "vsqxXdbcoOUeEfFgGtTp" {
				for _, flags := range []string{"%", "%+", "%#", "%-40", "%080", "% "} {
					format := flags + string(verb)
					hidesPlanted(t, format, fmt.Sprintf(format, value))
				}
			}
			hidesPlanted(t, "Sprint", fmt.Sprint(value))
			hidesPlanted(t, "Errorf", fmt.Errorf("failed with %v", value).Error())

			encoded, err := json.Marshal(value)
			if err != nil {
				t.Fatal(err)
			}
			hidesPlanted(t, "json", string(encoded))

			var log, page bytes.Buffer
			slog.New(slog.NewTextHandler(&log, nil)).Info("m", "k", value, slog.Group("g", "k", value))
			slog.New(slog.NewJSONHandler(&log, nil)).Info("m", "k", value, slog.Group("g", "k", value))
			hidesPlanted(t, "slog", log.String())
			if err := template.Must(template.New("").Parse("{{.}}")).Execute(&page, value); err != nil {
				t.Fatal(err)
			}
			hidesPlanted(t, "template", page.String())
		})
	}
}

// hidesPlanted checks that an output does not contain the planted text, in plain or hexadecimal
// form.
func hidesPlanted(t *testing.T, how, text string) {
	t.Helper()
	lower := strings.ToLower(text)
	for _, form := range []string{
		planted, fmt.Sprintf("%x", planted), fmt.Sprintf("% x", planted),
		strings.Trim(fmt.Sprintf("%d", []byte(planted)), "[]"),
	} {
		if strings.Contains(lower, form) {
			t.Errorf("%s shows the secret: %s", how, text)
		}
	}
}
