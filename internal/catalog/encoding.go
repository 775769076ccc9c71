package catalog

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"sync"

	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/zstd"

	"github.com/petcat-api/petcat"
)

// Encoding is an HTTP content coding.
type Encoding int

// The encodings.
const (
	Identity Encoding = iota
	Gzip
	Zstd
	encodings = iota
)

// String returns the name in HTTP.
func (e Encoding) String() string {
	switch e {
	case Gzip:
		return "gzip"
	case Zstd:
		return "zstd"
	default:
		return "identity"
	}
}

// header returns the values of Content-Encoding.
func (e Encoding) header() []string {
	if e == Identity {
		return nil
	}
	return []string{e.String()}
}

// suffix returns the part of an ETag that depends on the encoding.
func (e Encoding) suffix() string {
	if e == Identity {
		return ""
	}
	return "-" + e.String()
}

// block is an immutable part of the list. It is compressed once for each encoding, when it is
// first requested.
type block struct {
	elements
	since petcat.Revision // of the first list with the block
	crc   uint32          // CRC-32 of data
	shift uint32          // factor for the CRC-32 of the bytes before data; see crcShift

	mu         sync.Mutex
	compressed [encodings][]byte // guarded by mu; nil until requested
}

// newBlock returns a block of at least one element, for the list with a revision.
func newBlock(e elements, since petcat.Revision) *block {
	return &block{
		elements: e,
		since:    since,
		crc:      crc32.ChecksumIEEE(e.data),
		shift:    crcShift(len(e.data)),
	}
}

// encoded returns the block in an encoding.
func (b *block) encoded(e Encoding) []byte {
	if e == Identity {
		return b.data
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.compressed[e] == nil {
		b.compressed[e] = e.piece(b.data)
	}
	return b.compressed[e]
}

// release frees the block in an encoding.
func (b *block) release(e Encoding) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.compressed[e] = nil
}

// piece returns a part of a body: of a deflate stream for gzip, a separate frame for zstd. A body
// may contain several frames (RFC 8878, section 3.1).
func (e Encoding) piece(data []byte) []byte {
	switch e {
	case Gzip:
		return deflate(data, false)
	case Zstd:
		return compressZstd(data)
	default:
		return data
	}
}

// gzipHeader is the header of a gzip member (RFC 1952): deflate, no name, no time, unknown
// system.
var gzipHeader = []byte{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff} //nolint:gochecknoglobals // never changed

// A list is a single gzip member, because some clients stop after the first. The pieces of its
// deflate stream are compressed separately. Each starts with an empty window and ends on a byte
// boundary (a sync flush), so they can be concatenated.

// gzipEnd returns the last piece of the stream and the trailer of the member: the CRC-32 and
// length (modulo 2^32) of the whole list.
func gzipEnd(before []*block, tail []byte) []byte {
	var crc uint32
	size := len(tail)
	if len(before) > 0 {
		crc = crc32.ChecksumIEEE([]byte(begin))
		size += len(begin)
	}
	for _, b := range before {
		crc = crcMultiply(crc, b.shift) ^ b.crc
		size += len(b.data)
	}
	end := binary.LittleEndian.AppendUint32(deflate(tail, true), crc32.Update(crc, crc32.IEEETable, tail))
	return binary.LittleEndian.AppendUint32(end, uint32(size)) // #nosec G115 -- RFC 1952 counts modulo 2^32
}

// deflate compresses data.
func deflate(data []byte, final bool) []byte {
	var out bytes.Buffer
	w := deflateWriters.Get().(*flate.Writer)
	defer deflateWriters.Put(w)
	w.Reset(&out)
	_, err := w.Write(data)
	if err == nil && final {
		err = w.Close()
	} else if err == nil {
		err = w.Flush()
	}
	if err != nil {
		panic(err) // a bytes.Buffer never fails
	}
	return out.Bytes()
}

// deflateWriters holds idle writers, which take 800 KB each.
var deflateWriters = sync.Pool{New: func() any { //nolint:gochecknoglobals // a cache without state
	// Level 1: a part of the list is compressed again after each change, and higher
	// levels gain little with short JSON objects.
	w, err := flate.NewWriter(nil, flate.BestSpeed)
	if err != nil {
		panic(err) // the level is a constant
	}
	return w
}}

// zstdEncoders holds idle encoders: creating one takes longer than most uses.
var zstdEncoders = sync.Pool{New: func() any { //nolint:gochecknoglobals // a cache without state
	// A single goroutine, because a request waits anyway. A small window, because
	// decoders allocate it: RFC 9659 allows 8 MB.
	w, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest),
		zstd.WithWindowSize(256<<10), zstd.WithLowerEncoderMem(true))
	if err != nil {
		panic(err) // the options are constants
	}
	return w
}}

func compressZstd(data []byte) []byte {
	w := zstdEncoders.Get().(*zstd.Encoder)
	defer zstdEncoders.Put(w)
	return w.EncodeAll(data, nil)
}

// A CRC-32 is the remainder of a polynomial over GF(2). To combine the CRCs of two consecutive
// texts, multiply the first by x to the number of bits in the second text, and add the second. As
// in RFC 1952, the highest bit of a number is the coefficient of x^0.

const (
	crcPolynomial = 0xedb88320
	crcOne        = 1 << 31     // the polynomial 1
	crcByte       = crcOne >> 8 // x^8, the factor for one byte
)

// crcMultiply returns the product of two remainders.
func crcMultiply(a, b uint32) uint32 {
	var product uint32
	for ; a != 0; a <<= 1 {
		if a&crcOne != 0 {
			product ^= b
		}
		if b&1 != 0 {
			b = b>>1 ^ crcPolynomial
		} else {
			b >>= 1
		}
	}
	return product
}

// crcShift returns the factor for the CRC-32 of a text that n bytes follow.
func crcShift(n int) uint32 {
	shift, power := uint32(crcOne), uint32(crcByte)
	for ; n > 0; n >>= 1 {
		if n&1 != 0 {
			shift = crcMultiply(shift, power)
		}
		power = crcMultiply(power, power)
	}
	return shift
}
