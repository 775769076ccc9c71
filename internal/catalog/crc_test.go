package catalog

import (
	"hash/crc32"
	"testing"

	"pgregory.net/rapid"
)

// The checksum of two texts, one behind the other, follows from theirs.
func TestCRCOfJoinedTexts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		first, second := rapid.SliceOf(rapid.Byte()).Draw(t, "first"), rapid.SliceOf(rapid.Byte()).Draw(t, "second")
		got := crcMultiply(crc32.ChecksumIEEE(first), crcShift(len(second))) ^ crc32.ChecksumIEEE(second)
		if want := crc32.ChecksumIEEE(append(first, second...)); got != want {
			t.Fatalf("%08x, want %08x", got, want)
		}
	})
}
