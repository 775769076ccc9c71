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
	// Of the customers' pages and of the console: tokens of links, and cookies.
	customerLinks, customerCookies *ratelimit.Door[clientnet.Net]
	operatorLinks, operatorCookies *ratelimit.Door[clientnet.Net]
	operatorTokens                 *ratelimit.Door[clientnet.Net]
}

const (
	// newKeys is the number of requests that may wait at a time because the keyring does not know
	// their key. All of them wait for one poll.
	newKeys = 4096
	// lookupsRunning and lookupsWaiting limit the other look-ups of each listener, each of which reads
	// from the database. At 5,000 look-ups per second, none waits for a second.
	lookupsRunning = 32
	lookupsWaiting = 4096
)

func newDoors(c clock.Clock) doors {
	// Separate look-ups, so that strangers on the API's listener do not delay operators.
	customers := ratelimit.NewLookups(lookupsRunning, lookupsWaiting)
	operators := ratelimit.NewLookups(lookupsRunning, lookupsWaiting)
	return doors{
		keys:            ratelimit.NewDoor[clientnet.Net](c, httpapi.FailuresPerMinute, ratelimit.NewLookups(newKeys, 0)),
		customerLinks:   ratelimit.NewDoor[clientnet.Net](c, pages.FailuresPerMinute, customers),
		customerCookies: ratelimit.NewDoor[clientnet.Net](c, httpapi.FailuresPerMinute, customers),
		operatorLinks:   ratelimit.NewDoor[clientnet.Net](c, pages.FailuresPerMinute, operators),
		operatorCookies: ratelimit.NewDoor[clientnet.Net](c, httpapi.FailuresPerMinute, operators),
		operatorTokens:  ratelimit.NewDoor[clientnet.Net](c, httpapi.FailuresPerMinute, operators),
	}
}
