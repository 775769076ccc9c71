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
	ban := "null"
	if d.BanEnds != 0 {
		ban = fmt.Sprintf(`{"until":%d}`, d.BanEnds)
	}
	e.sendJSON(http.StatusOK, fmt.Appendf(nil, `{"plan":"%s","windows":[%s,%s],"ban":%s}`,
		e.caller.Plan, windowUsage(petcat.Minute, d.Minute), windowUsage(petcat.Day, d.Day), ban))
	return nil
}

func windowUsage(w petcat.Window, s ratelimit.WindowState) string {
	return fmt.Sprintf(`{"window":"%s","limit":%d,"used":%d,"remaining":%d,"reset":%d}`, w, s.Limit, s.Limit-s.Remaining, s.Remaining, s.Reset)
}
