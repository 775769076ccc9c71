package catalog

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

// crcShift returns what the CRC-32 of a text is multiplied by when so many bytes follow.
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
