package httpapi_test

import (
	"context"
	"testing"
	"time"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/catalog"
	"github.com/petcat-api/petcat/internal/httpapi"
)

// agedList is a list with a configurable age.
type agedList struct {
	*catalog.Catalog

	age *time.Duration
}

func (l agedList) Current(ctx context.Context, newest petcat.Revision) (*catalog.Snapshot, time.Duration, error) {
	snapshot, _, err := l.Catalog.Current(ctx, newest)
	return snapshot, *l.age, err
}

func TestAgeOfStaleList(t *testing.T) {
	var age time.Duration
	s := start(t, func(o *httpapi.Options) { o.Catalog = agedList{catalog.New("data"), &age} })
	key, _ := s.key(s.account("acme", petcat.Pro))
	etag := s.list(withKey(key)).Header.Get("ETag")
	for _, tt := range []struct {
		age  time.Duration
		want []string
	}{
		{0, nil},
		{1, []string{"1"}},
		{time.Second, []string{"1"}},
		{time.Second + 1, []string{"2"}},
		{29500 * time.Millisecond, []string{"30"}},
	} {
		age = tt.age
		unchanged := withHeader("If-None-Match", etag)
		for status, changes := range map[int][]request{200: {withKey(key)}, 304: {withKey(key), unchanged}} {
			a := s.list(changes...)
			wantStatus(t, a, status)
			if got := a.Header["Age"]; len(got) != len(tt.want) || len(got) == 1 && got[0] != tt.want[0] {
				t.Errorf("%d, %s old: Age %q, want %q", status, tt.age, got, tt.want)
			}
		}
	}
}
