package httpapi

import (
	"fmt"
	"net/http"

	"petcat"
	"petcat/internal/ratelimit"
)

// getUsage answers GET /usage.
func (s *Server) getUsage(e *exchange) error {
	d := e.Decision
	body := fmt.Appendf(nil, `{"plan":"%s","windows":[`, e.caller.Plan)
	body = appendUsage(body, petcat.Minute, d.Minute)
	body = appendUsage(append(body, ','), petcat.Day, d.Day)
	if d.BanEnds == 0 {
		body = append(body, `],"ban":null}`...)
	} else {
		body = fmt.Appendf(body, `],"ban":{"until":%d}}`, d.BanEnds)
	}
	e.sendUncached(http.StatusOK, body)
	return nil
}

func appendUsage(dst []byte, w petcat.Window, s ratelimit.WindowState) []byte {
	return fmt.Appendf(dst, `{"window":"%s","limit":%d,"used":%d,"remaining":%d,"reset":%d}`, w, s.Limit, s.Limit-s.Remaining, s.Remaining, s.Reset)
}
