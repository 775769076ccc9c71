package httpapi_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"petcat"
	"petcat/internal/catalog"
	"petcat/internal/httpapi"
)

// agedList is a list with an age of the test's choice.
type agedList struct {
	list *catalog.Catalog
	age  *time.Duration
}

func (l agedList) Current(ctx context.Context) (*catalog.Snapshot, time.Duration, error) {
	snapshot, _, err := l.list.Current(ctx)
	return snapshot, *l.age, err
}

func TestAgeOfALastKnownList(t *testing.T) {
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
		for status, changes := range map[int][]request{200: {withKey(key)}, 304: {withKey(key), withHeader("If-None-Match", etag)}} {
			a := s.list(changes...)
			wantStatus(t, a, status)
			if got := a.Header["Age"]; len(got) != len(tt.want) || len(got) == 1 && got[0] != tt.want[0] {
				t.Errorf("%d of a list that is %s old: Age %q, want %q", status, tt.age, got, tt.want)
			}
		}
	}
}

// A request that would change something is not refused for good, nor carried out, because of
// what a stale list has.
func TestConditionsOnAStaleList(t *testing.T) {
	var age time.Duration
	s := start(t, func(o *httpapi.Options) { o.Catalog = agedList{o.Catalog.(*catalog.Catalog), &age} })
	key, _ := s.key(s.account("acme", petcat.Enterprise, 1_000, 10_000))
	wantStatus(t, s.create(`{"name":"dog"}`, withKey(key)), 201)
	for _, c := range []struct{ method, path, body string }{
		{"POST", "/v1/categories", `{"name":"cat"}`},
		{"PATCH", "/v1/categories/1", `{"name":"cat"}`},
		{"DELETE", "/v1/categories/1", ""},
		{"DELETE", "/v1/categories/2", ""}, // perhaps it was created meanwhile
	} {
		t.Run("503 "+c.method+" "+c.path, func(t *testing.T) {
			age = 0
			etag := s.do("GET", strings.TrimSuffix(c.path, "/2"), nil, withKey(key)).Header.Get("ETag")
			age = time.Second
			for _, condition := range []request{withHeader("If-Match", etag), withHeader("If-Match", `"other"`), withHeader("If-None-Match", "*")} {
				a := s.do(c.method, c.path, strings.NewReader(c.body), withKey(key), condition)
				wantError(t, a, 503, petcat.CodeServiceUnavailable)
			}
		})
	}
	if list := s.list(withKey(key)); string(list.body) != `[{"id":1,"name":"dog"}]` {
		t.Errorf("the list is %s", list.body)
	}
}
