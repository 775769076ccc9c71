package petcat_test

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"petcat"
)

func TestPublic(t *testing.T) {
	inner := errors.New("dial tcp 10.0.0.7: refused")
	own := petcat.Errorf(petcat.CodeNotFound, "no category %d", 7)
	for _, c := range []struct {
		name    string
		err     error
		code    petcat.Code
		message string
	}{
		{"own", own, petcat.CodeNotFound, "no category 7"},
		{"own, wrapped", fmt.Errorf("read: %w", own), petcat.CodeNotFound, "no category 7"},
		{"own, joined", errors.Join(inner, own), petcat.CodeNotFound, "no category 7"},
		{"own with a cause", own.WithCause(inner), petcat.CodeNotFound, "no category 7"},
		{"the outermost speaks", petcat.Errorf(petcat.CodeServiceUnavailable, "later").WithCause(own), petcat.CodeServiceUnavailable, "later"},
		{"anything else", inner, petcat.CodeInternalError, ""},
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

// TestCodesListsEveryConstant: the document and the SDK are compared with that list.
func TestCodesListsEveryConstant(t *testing.T) {
	source, err := os.ReadFile("error.go")
	if err != nil {
		t.Fatal(err)
	}
	var declared []petcat.Code
	for _, m := range regexp.MustCompile(`\tCode\w+ +Code += "([a-z_]+)"`).FindAllSubmatch(source, -1) {
		declared = append(declared, petcat.Code(m[1]))
	}
	listed := petcat.Codes()
	slices.Sort(declared)
	slices.Sort(listed)
	if !slices.Equal(declared, listed) {
		t.Errorf("declared %v\nlisted %v", declared, listed)
	}
}
