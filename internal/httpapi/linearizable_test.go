package httpapi_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"petcat"
	"petcat/internal/historytest"
)

// Creates and lists, as eight clients saw them, could have happened one after
// the other, in an order that respects who waited for whom.
func TestLinearizable(t *testing.T) {
	const histories, clients, each = 10, 8, 20
	for h := range histories {
		t.Run(fmt.Sprint(h), func(t *testing.T) {
			s := start(t)
			key, _ := s.key(s.account("acme", petcat.Enterprise, 1_000_000, 1_000_000))
			var (
				history historytest.History
				done    sync.WaitGroup
			)
			for c := range clients {
				done.Go(func() {
					for i := range each {
						if (c+i)%2 == 0 {
							history.List(c, func() string { return ids(t, s.list(withKey(key)).body) })
							continue
						}
						history.Create(c, func() string {
							a := s.create(`{"name":"x"}`, withKey(key))
							return strings.TrimPrefix(a.Header.Get("Location"), "/v1/categories/")
						})
					}
				})
			}
			done.Wait()
			history.Check(t)
		})
	}
}

// ids returns the ids of a list, in its order, as text.
func ids(t *testing.T, body []byte) string {
	t.Helper()
	var list []struct{ ID json.Number }
	must(t, json.Unmarshal(body, &list))
	var all []string
	for _, c := range list {
		all = append(all, c.ID.String())
	}
	return strings.Join(all, " ")
}
