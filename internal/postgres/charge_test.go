package postgres

import (
	"testing"

	"petcat"
)

func TestChargeSmoke(t *testing.T) {
	s := openAt(t, server.Database(t), Options{Serving: true})
	defer closeNow(t, s)
	for range 3 {
		c, n, err := s.Charge(t.Context(), []petcat.QuotaCharge{{Account: 1, Quota: petcat.Quota{PerMinute: 2, PerDay: 10}}, {Account: 1, Quota: petcat.Quota{PerMinute: 2, PerDay: 10}}, {Account: 5, Quota: petcat.Quota{PerMinute: 2, PerDay: 10}}})
		t.Log(c, n, err)
	}
}
