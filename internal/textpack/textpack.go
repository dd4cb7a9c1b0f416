package textpack

import (
	"encoding/binary"
	"errors"
	"math/bits"
	"sync"
)

const (
	// MaxSize is the size in bytes of the longest text that is packed. It bounds what
	// must be unpacked to read the beginning of a text.
	MaxSize = 4 << 10
	// minSize is the size of the shortest text that is packed.
	minSize = 32

	dictionaryNumber = 1
)

// A packed text consists of a dictionary's number and operations. The first bits of an
// operation tell its kind:
//
//	0 LLLLLLL                     L+1 bytes follow, which are text
//	10 LLL DDD, D…                a reference to L+4 bytes, D+1 before the end
//	11 LLLLLL, D…, D…             a reference to L+4 bytes, D+1 before the end;
//	                              if L is 63, a byte follows that is added to it
//
// The dictionary stands before the text. Distances have their high bits first.
const (
	minMatch     = 4
	maxLiterals  = 128
	maxShort     = minMatch + 7
	shortSpan    = 1 << 11
	longMark     = 63
	maxLong      = minMatch + longMark + 255
	shortKind    = 0x80
	longKind     = 0xc0
	hashMultiply = 2654435761

	// dictionaryBits and textBits are the sizes of the tables of places: that of the
	// dictionary is made once, that of a text is cleared for each.
	dictionaryBits = 12
	textBits       = 10
)

// window is a dictionary with a text after it, and where in the text four bytes with a
// hash were seen last (0: nowhere).
type window struct {
	bytes []byte
	last  [1 << textBits]uint16
}

var (
	dictionary = []byte(dictionary1)
	places     = placesOf(dictionary)
	windows    = sync.Pool{New: func() any { return &window{bytes: append(make([]byte, 0, len(dictionary)+MaxSize), dictionary...)} }}
)

// placesOf returns where in the dictionary four bytes with a hash stand last.
func placesOf(dictionary []byte) (last [1 << dictionaryBits]uint16) {
	for i := 1; i+minMatch <= len(dictionary); i++ {
		last[hash(dictionary[i:])] = uint16(i)
	}
	return last
}

func hash(b []byte) uint32 {
	return binary.LittleEndian.Uint32(b) * hashMultiply >> (32 - dictionaryBits)
}

// Pack returns a text in fewer bytes, to be read by Unpack. It returns nil if the text
// is longer than MaxSize, or if packing it saves less than an eighth.
func Pack(text []byte) []byte {
	if len(text) < minSize || len(text) > MaxSize {
		return nil
	}
	w := windows.Get().(*window)
	defer windows.Put(w)
	w.bytes = append(w.bytes[:len(dictionary)], text...)
	clear(w.last[:])
	most := len(text) - len(text)/8
	out := append(make([]byte, 0, most+maxLiterals), dictionaryNumber)
	literal, end := len(dictionary), len(w.bytes)
	for i := literal; i+minMatch <= end; {
		from, length := w.match(i)
		if length < minMatch {
			i++
			continue
		}
		out = appendLiterals(out, w.bytes[literal:i])
		out = appendReference(out, length, i-from-1)
		for k := i + 1; k < i+length && k+minMatch <= end; k += 2 { // the rest is worth less than its time
			w.last[hash(w.bytes[k:])%(1<<textBits)] = uint16(k)
		}
		i += length
		literal = i
		if len(out) > most {
			return nil
		}
	}
	if out = appendLiterals(out, w.bytes[literal:]); len(out) > most {
		return nil
	}
	return out
}

// match returns the better of two earlier places that begin with the same four bytes
// as place i, if any, and how many bytes are equal.
func (w *window) match(i int) (from, length int) {
	h := hash(w.bytes[i:])
	from = int(w.last[h%(1<<textBits)])
	w.last[h%(1<<textBits)] = uint16(i)
	if from != 0 {
		length = w.equal(from, i)
	}
	if other := int(places[h]); other != 0 && length < maxLong {
		if n := w.equal(other, i); n > length {
			from, length = other, n
		}
	}
	return from, length
}

// equal returns how many bytes from a place and from a later one are equal.
func (w *window) equal(from, i int) int {
	most := min(maxLong, len(w.bytes)-i)
	a, b := w.bytes[from:from+most], w.bytes[i:i+most]
	n := 0
	for n+8 <= most {
		if d := binary.LittleEndian.Uint64(a[n:]) ^ binary.LittleEndian.Uint64(b[n:]); d != 0 {
			return n + bits.TrailingZeros64(d)/8
		}
		n += 8
	}
	for n < most && a[n] == b[n] {
		n++
	}
	return n
}

func appendLiterals(out, text []byte) []byte {
	for len(text) > 0 {
		n := min(len(text), maxLiterals)
		out = append(append(out, byte(n-1)), text[:n]...)
		text = text[n:]
	}
	return out
}

func appendReference(out []byte, length, distance int) []byte {
	if length <= maxShort && distance < shortSpan {
		return append(out, shortKind|byte(length-minMatch)<<3|byte(distance>>8), byte(distance))
	}
	n := length - minMatch
	out = append(out, longKind|byte(min(n, longMark)), byte(distance>>8), byte(distance))
	if n >= longMark {
		out = append(out, byte(n-longMark))
	}
	return out
}

var (
	errUnknown = errors.New("a packed text was written by a newer punctual; use that version")
	errDamaged = errors.New("a packed text is damaged")
)

// Unpack returns the text of size bytes that Pack was given. It fails if packed was not
// returned by Pack for such a text, and never uses more memory than MaxSize.
func Unpack(packed []byte, size int) ([]byte, error) {
	switch {
	case len(packed) == 0 || size < 0 || size > MaxSize:
		return nil, errDamaged
	case packed[0] != dictionaryNumber:
		return nil, errUnknown
	}
	text := make([]byte, 0, size)
	for rest := packed[1:]; len(rest) > 0; {
		op := rest[0]
		rest = rest[1:]
		if op < shortKind {
			n := int(op) + 1
			if n > len(rest) || len(text)+n > size {
				return nil, errDamaged
			}
			text, rest = append(text, rest[:n]...), rest[n:]
			continue
		}
		length, distance, used := reference(op, rest)
		if used == 0 || len(text)+length > size || distance > len(dictionary)+len(text) {
			return nil, errDamaged
		}
		text, rest = appendEarlier(text, length, distance), rest[used:]
	}
	if len(text) != size {
		return nil, errDamaged
	}
	return text, nil
}

// reference reads a reference after its first byte. It returns how many further bytes
// it has; 0 if they are missing.
func reference(op byte, rest []byte) (length, distance, used int) {
	switch {
	case op < longKind && len(rest) >= 1:
		return minMatch + int(op>>3&7), int(op&7)<<8 + int(rest[0]) + 1, 1
	case op < longKind || len(rest) < 2:
		return 0, 0, 0
	}
	length, distance, used = minMatch+int(op&longMark), int(rest[0])<<8+int(rest[1])+1, 2
	if op&longMark == longMark {
		if len(rest) < 3 {
			return 0, 0, 0
		}
		length, used = length+int(rest[2]), 3
	}
	return length, distance, used
}

// appendEarlier appends bytes that stand before the end of a text, or in the
// dictionary before it. A reference may reach into what it appends.
func appendEarlier(text []byte, length, distance int) []byte {
	from := len(text) - distance
	if from < 0 {
		n := min(length, -from)
		at := len(dictionary) + from
		text = append(text, dictionary[at:at+n]...)
		if length, from = length-n, from+n; length == 0 {
			return text
		}
	}
	if length <= len(text)-from {
		return append(text, text[from:from+length]...)
	}
	for ; length > 0; length-- {
		text = append(text, text[from])
		from++
	}
	return text
}
