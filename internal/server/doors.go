package server

import (
	"github.com/petcat-api/petcat/internal/clientnet"
	"github.com/petcat-api/petcat/internal/clock"
	"github.com/petcat-api/petcat/internal/httpapi"
	"github.com/petcat-api/petcat/internal/pages"
	"github.com/petcat-api/petcat/internal/ratelimit"
)

// doors are the doors of a node, one for each kind of credential.
type doors struct {
	keys *ratelimit.Door[clientnet.Net]
	// The credentials of the customers' pages and the console: link tokens and cookies.
	customerLinks, customerCookies *ratelimit.Door[clientnet.Net]
	operatorLinks, operatorCookies *ratelimit.Door[clientnet.Net]
	operatorTokens                 *ratelimit.Door[clientnet.Net]
}

const (
	// newKeys is the number of concurrent look-ups of keys that are not in the keyring.
	// All of them wait for one poll.
	newKeys = 4096
	// lookups is the number of each listener's other concurrent look-ups, which read from the database.
	lookups = 32
)

func newDoors(c clock.Clock) doors {
	// Separate look-ups, so that unknown clients on the API's listener do not delay operators.
	customers := ratelimit.NewLookups(lookups)
	operators := ratelimit.NewLookups(lookups)
	return doors{
		keys:            ratelimit.NewDoor[clientnet.Net](c, httpapi.FailuresPerMinute, ratelimit.NewLookups(newKeys)),
		customerLinks:   ratelimit.NewDoor[clientnet.Net](c, pages.FailuresPerMinute, customers),
		customerCookies: ratelimit.NewDoor[clientnet.Net](c, httpapi.FailuresPerMinute, customers),
		operatorLinks:   ratelimit.NewDoor[clientnet.Net](c, pages.FailuresPerMinute, operators),
		operatorCookies: ratelimit.NewDoor[clientnet.Net](c, httpapi.FailuresPerMinute, operators),
		operatorTokens:  ratelimit.NewDoor[clientnet.Net](c, httpapi.FailuresPerMinute, operators),
	}
}
