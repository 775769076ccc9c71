package catalog

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"sync"

	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/zstd"
)

// Encoding is a content coding of HTTP.
type Encoding int

// The encodings.
const (
	Identity Encoding = iota
	Gzip
	Zstd
	encodings = iota
)

// String returns the coding's name in HTTP.
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

// header returns the value of Content-Encoding.
func (e Encoding) header() []string {
	if e == Identity {
		return nil
	}
	return []string{e.String()}
}

// suffix returns the part of an ETag that differs between the encodings.
func (e Encoding) suffix() string {
	if e == Identity {
		return ""
	}
	return "-" + e.String()
}

// block is a part of the list that never changes. It is compressed at most once for each
// encoding, at the first request for it.
type block struct {
	elements
	crc   uint32 // CRC-32 of data
	shift uint32 // makes room for data in the CRC-32 of what precedes it

	encoded [encodings]func() []byte
}

// newBlock returns a block of elements; there is one at least.
func newBlock(e elements) *block {
	b := &block{elements: e, crc: crc32.ChecksumIEEE(e.data), shift: crcShift(len(e.data))}
	for e := range encodings {
		b.encoded[e] = sync.OnceValue(func() []byte { return Encoding(e).piece(b.data) })
	}
	return b
}

// piece returns a part of a body. Of gzip it is one of a deflate stream, of zstd a frame of
// its own: a body may hold several (RFC 8878, section 3.1).
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

// gzipHeader begins a gzip member (RFC 1952): deflate, no name, no time,
// unknown system.
var gzipHeader = []byte{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff} //nolint:gochecknoglobals // nobody changes it

// A list is one gzip member, because some clients stop after the first. Its
// deflate stream is made of pieces that were compressed apart: each was begun
// with an empty window and ended on a byte boundary (a sync flush), so they may
// be joined.

// gzipEnd returns the last piece of the stream, and the trailer of the member: CRC-32
// and length (modulo 2^32) of the whole list.
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
		panic(err) // a bytes.Buffer takes everything
	}
	return out.Bytes()
}

// deflateWriters holds idle writers: a new one needs 800 KB.
var deflateWriters = sync.Pool{New: func() any { //nolint:gochecknoglobals // holds nothing that anybody would miss
	// Level 1: a list is compressed again for the first reader after each
	// change, and higher levels gain little on short JSON objects.
	w, err := flate.NewWriter(nil, flate.BestSpeed)
	if err != nil {
		panic(err) // the level is a constant
	}
	return w
}}

// zstdEncoders holds idle encoders: making one costs more than most uses.
var zstdEncoders = sync.Pool{New: func() any { //nolint:gochecknoglobals // holds nothing that anybody would miss
	// One goroutine: the work is done for a waiting request already. A small
	// window, because decoders need to reserve it: RFC 9659 allows 8 MB.
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

// A CRC-32 is the remainder of a polynomial over GF(2). That of two texts, one behind the
// other, follows from theirs: the first is multiplied by x to the number of the second's
// bits, and the second is added. Bits are in the order of RFC 1952: the highest bit of a
// number is the coefficient of x^0.

const (
	crcPolynomial = 0xedb88320
	crcOne        = 1 << 31     // the polynomial 1
	crcByte       = crcOne >> 8 // x^8: the room of one byte
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

// crcShift returns the factor by which n more bytes multiply a text's CRC-32.
func crcShift(bytes int) uint32 {
	shift, power := uint32(crcOne), uint32(crcByte)
	for ; bytes > 0; bytes >>= 1 {
		if bytes&1 != 0 {
			shift = crcMultiply(shift, power)
		}
		power = crcMultiply(power, power)
	}
	return shift
}
