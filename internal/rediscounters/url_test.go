package rediscounters

import (
	"slices"
	"strings"
	"testing"

	"petcat"
	"petcat/internal/counters"
)

func TestParseURL(t *testing.T) {
	for _, tc := range []struct {
		url      string
		want     endpoint
		password string
	}{
		{"redis://localhost", endpoint{addresses: []string{"localhost:6379"}}, ""},
		{"redis://localhost:7000/3", endpoint{addresses: []string{"localhost:7000"}, database: 3}, ""},
		{"rediss://:s3cret@db.example:6380", endpoint{tls: true, addresses: []string{"db.example:6380"}}, "s3cret"},
		{"redis://ann:p%40ss@host", endpoint{addresses: []string{"host:6379"}, username: "ann"}, "p@ss"},
		{"redis://ann:p@s/s@host/1", endpoint{addresses: []string{"host:6379"}, username: "ann", database: 1}, "p@s/s"},
		{"redis://[::1]:7000", endpoint{addresses: []string{"[::1]:7000"}}, ""},
		{"redis://[::1]", endpoint{addresses: []string{"[::1]:6379"}}, ""},
		{"redis-sentinel://a,b:7/2?master=main&sentinel_username=sam", endpoint{topology: sentinel, addresses: []string{"a:26379", "b:7"}, database: 2, master: "main", sentinelUsername: "sam"}, ""},
		{"redis-cluster://u:p@a:1,b:2,c:3?tls=true", endpoint{topology: cluster, tls: true, addresses: []string{"a:1", "b:2", "c:3"}, username: "u"}, "p"},
	} {
		got, err := parseURL(petcat.NewSecret(tc.url))
		if err != nil {
			t.Errorf("%s: %v", tc.url, err)
			continue
		}
		if got.password.Reveal() != tc.password {
			t.Errorf("%s: the password is %q, want %q", tc.url, got.password.Reveal(), tc.password)
		}
		if got.topology != tc.want.topology || got.tls != tc.want.tls || !slices.Equal(got.addresses, tc.want.addresses) ||
			got.username != tc.want.username || got.database != tc.want.database || got.master != tc.want.master ||
			got.sentinelUsername != tc.want.sentinelUsername {
			t.Errorf("%s: %+v, want %+v", tc.url, got, tc.want)
		}
	}
}

// Whatever is wrong with a URL, what it says is not repeated.
func TestParseURLRefuses(t *testing.T) {
	const planted = "hunter2"
	for _, url := range []string{
		"", planted, "http://:" + planted + "@host", "redis://:" + planted + "@", "redis://:" + planted + "%zz@host",
		"redis://:" + planted + "@a,b", "redis://:" + planted + "@host/x" + planted, "redis://host/-1", "redis://:" + planted + "@host:x" + planted, "redis://host:65536",
		"redis-sentinel://:" + planted + "@host", "redis-cluster://:" + planted + "@host/2",
		"redis://host?" + planted + "=1", "redis://host?tls=" + planted, "redis://host?a=%zz" + planted, "redis-cluster://a,,b",
	} {
		_, err := parseURL(petcat.NewSecret(url))
		if err == nil {
			t.Errorf("%q was taken", url)
			continue
		}
		if strings.Contains(err.Error(), planted) {
			t.Errorf("the error holds the password: %v", err)
		}
		if !strings.Contains(err.Error(), "redis://") {
			t.Errorf("the error does not say what to write: %v", err)
		}
	}
}

// The slots are those of the cluster specification, and the partitions' divide them
// evenly.
func TestSlots(t *testing.T) {
	for tag, want := range map[string]uint16{"123456789": 0x31c3, "": 0, "foo": 12182} {
		if got := slotOf(tag); got != want%hashSlots {
			t.Errorf("slot of %q is %d, want %d", tag, got, want%hashSlots)
		}
	}
	for p, tag := range strings.Fields(tags) {
		if got := int(slotOf(tag)) * counters.MaxPartitions / hashSlots; got != p {
			t.Errorf("the tag %s is in part %d of the slots, want %d", tag, got, p)
		}
	}
}

const hashSlots = 16_384

// slotOf returns a cluster's hash slot of the keys with a tag: the CRC16 of the
// tag, in the variant called XMODEM.
func slotOf(tag string) uint16 {
	var crc uint16
	for i := range len(tag) {
		crc ^= uint16(tag[i]) << 8
		for range 8 {
			carry := crc&0x8000 != 0
			crc <<= 1
			if carry {
				crc ^= 0x1021
			}
		}
	}
	return crc % hashSlots
}
