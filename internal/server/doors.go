package server

import (
	"github.com/petcat-api/petcat/internal/clock"
	"github.com/petcat-api/petcat/internal/httpapi"
	"github.com/petcat-api/petcat/internal/pages"
	"github.com/petcat-api/petcat/internal/ratelimit"
)

// doors are the doors of a node, one for each kind of credential.
type doors struct {
	keys *ratelimit.Door
	// Of the customers' pages and of the console: tokens of links, and cookies.
	customerLinks, customerCookies *ratelimit.Door
	operatorLinks, operatorCookies *ratelimit.Door
	operatorTokens                 *ratelimit.Door
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
		keys:            ratelimit.NewDoor(c, httpapi.FailuresPerMinute, ratelimit.NewLookups(newKeys, 0)),
		customerLinks:   ratelimit.NewDoor(c, pages.FailuresPerMinute, customers),
		customerCookies: ratelimit.NewDoor(c, httpapi.FailuresPerMinute, customers),
		operatorLinks:   ratelimit.NewDoor(c, pages.FailuresPerMinute, operators),
		operatorCookies: ratelimit.NewDoor(c, httpapi.FailuresPerMinute, operators),
		operatorTokens:  ratelimit.NewDoor(c, httpapi.FailuresPerMinute, operators),
	}
}
