package petcat_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/petcat-api/petcat"
)

func TestPublic(t *testing.T) {
	inner := errors.New("dial tcp 10.0.0.7: rejected")
	own := petcat.Errorf(petcat.CodeNotFound, "no category %d", 7)
	for _, c := range []struct {
		name    string
		err     error
		code    petcat.Code
		message string
	}{
		{"domain error", own, petcat.CodeNotFound, "no category 7"},
		{"wrapped", fmt.Errorf("read: %w", own), petcat.CodeNotFound, "no category 7"},
		{"joined", errors.Join(inner, own), petcat.CodeNotFound, "no category 7"},
		{"with a cause", own.WithCause(inner), petcat.CodeNotFound, "no category 7"},
		{
			"outermost domain error wins", petcat.Errorf(petcat.CodeServiceUnavailable, "later").WithCause(own),
			petcat.CodeServiceUnavailable, "later",
		},
		{"other error", inner, petcat.CodeInternalError, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			wantCode(t, c.err, c.code)
			public := petcat.Public(c.err)
			if c.message != "" && public.Message != c.message {
				t.Errorf("message %q, want %q", public.Message, c.message)
			}
			if strings.Contains(public.Message, "10.0.0.7") {
				t.Errorf("the message shows the cause: %s", public.Message)
			}
		})
	}
	wantCode(t, nil, "")
}
