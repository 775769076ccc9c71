package e2e

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync/atomic"
	"time"
)

// What the clients of a soak do.
const (
	soakLists   = "a list"
	soakCreates = "a create that is repeated"
	soakLives   = "a category is created, changed and deleted"
	soakPets    = "a pet of a category, and a list of its pets"
)

// soakClient is one of them: on one node, with one key.
type soakClient struct {
	x   *soak
	s   *server
	key string
}

// load lets clients use the nodes: most of them list, some create, change and delete
// categories, and some have pets. Those on the plan free exceed their quotas.
func (x *soak) load() (stop func()) {
	unlimitedKey, free := x.newCaller(), x.newKeys("free", 20, "free")
	single := newCaller(x.t, x.single.data)
	plain := &http.Client{Timeout: answerTimeout, Transport: &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 100}}
	for _, status := range []int{0, 200, 201, 204, 404, 409, 429, 503} {
		x.answers[status] = &atomic.Int64{}
	}
	for _, what := range []string{soakLists, soakCreates, soakLives, soakPets} {
		x.done[what] = &atomic.Int64{}
	}
	// Nodes that are killed are started again at another address.
	var nodes [3]atomic.Pointer[server]
	at := func(s *server) *server { return &server{t: x.t, client: plain, api: s.api} }
	x.started = func(i int) { nodes[i].Store(at(x.nodes[i])) }
	for i := range nodes {
		x.started(i)
	}
	return stream(8, 4*time.Millisecond, func(random *rand.Rand) {
		c := soakClient{x, nodes[random.IntN(3)].Load(), unlimitedKey}
		switch random.IntN(4) {
		case 0:
			c.s, c.key = at(x.single), single
		case 1:
			c.key = free[random.IntN(len(free))]
		}
		switch n := random.IntN(100); {
		case n == 0:
			c.life(fmt.Sprint("life ", random.Int64()))
		case n < 4:
			c.pet(random.IntN(500))
		case n < 12:
			_ = c.create(random.IntN(500))
		default:
			c.ask(soakLists, http.MethodGet, "/v1/categories", "")
		}
	})
}

// ask sends a request, and counts the answer. It returns nil when there is none that helps.
func (c soakClient) ask(what, method, path, body string, changes ...request) *answer {
	var err error
	var a *answer
	outages := c.x.outages.Load()
	if body == "" {
		a, err = c.s.try(method, c.s.api+path, nil, append(changes, withKey(c.key))...)
	} else {
		a, err = c.s.try(method, c.s.api+path, strings.NewReader(body), append(changes, withKey(c.key))...)
	}
	status := 0
	if err == nil {
		status = a.StatusCode
	}
	if count := c.x.answers[status]; count != nil {
		count.Add(1)
	} else {
		c.x.t.Errorf("%s: an answer with %d: %.300s", what, status, a.body)
	}
	well := c.s.api == c.x.single.api || outages%2 == 0 && c.x.outages.Load() == outages
	if status == http.StatusServiceUnavailable && well {
		c.x.t.Errorf("%s: 503 while nothing is away: %.300s", what, a.body)
	}
	if status < 200 || status > 299 {
		return nil
	}
	c.x.done[what].Add(1)
	return a
}

// create creates one of 500 categories, each again and again, and returns its id, 0 when
// that is not known.
func (c soakClient) create(number int) (id int64) {
	name := fmt.Sprint("c", number)
	if a := c.ask(soakCreates, http.MethodPost, "/v1/categories", categoryBody(name), withHeader("Idempotency-Key", name)); a != nil {
		return a.category(c.x.t).ID
	}
	return 0
}

// life creates a category, changes it and deletes it.
func (c soakClient) life(name string) {
	a := c.ask(soakLives, http.MethodPost, "/v1/categories", categoryBody(name))
	if a == nil {
		return
	}
	path := fmt.Sprint("/v1/categories/", a.category(c.x.t).ID)
	_ = c.ask(soakLives, http.MethodPatch, path, categoryBody(name+" changed"), func(r *http.Request) { r.Header.Set("Content-Type", "application/merge-patch+json") })
	_ = c.ask(soakLives, http.MethodDelete, path, "")
}

// pet gives one of 500 categories its pet, again and again, and lists its pets.
func (c soakClient) pet(number int) {
	id := c.create(number)
	if id == 0 {
		return
	}
	once := withHeader("Idempotency-Key", fmt.Sprint("pet", number))
	_ = c.ask(soakPets, http.MethodPost, "/v1/pets", fmt.Sprintf(`{"name":"Rex","category_id":%d}`, id), once)
	_ = c.ask(soakPets, http.MethodGet, fmt.Sprint("/v1/pets?category_id=", id), "")
}
