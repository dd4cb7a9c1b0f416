package textpack

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"sync"

	"github.com/klauspost/compress/s2"
)

const (
	// MaxSize is the size in bytes of the longest text that is packed. It bounds what
	// must be unpacked to read the beginning of a text.
	MaxSize = 4 << 10
	// minSize is the size of the shortest text that is packed: s2 makes no references
	// in shorter ones.
	minSize = 32

	dictionaryNumber = 1
	// prefix is how many bytes stand before the block: the dictionary's number and
	// the text's sum.
	prefix = 1 + crc32.Size
)

var (
	dictionary = s2.MakeDict([]byte(dictionary1), []byte(start1))
	sums       = crc32.MakeTable(crc32.Castagnoli)
	buffers    = sync.Pool{New: func() any {
		b := make([]byte, s2.MaxEncodedLen(MaxSize))
		return &b
	}}
)

// Pack returns a text in fewer bytes, to be read by Unpack. It returns nil if the text
// is longer than MaxSize, or if packing it saves less than an eighth.
func Pack(text []byte) []byte {
	if len(text) < minSize || len(text) > MaxSize {
		return nil
	}
	buffer := buffers.Get().(*[]byte)
	defer buffers.Put(buffer)
	block := dictionary.Encode(*buffer, text)
	if prefix+len(block) > len(text)-len(text)/8 {
		return nil
	}
	packed := make([]byte, prefix+len(block))
	packed[0] = dictionaryNumber
	binary.LittleEndian.PutUint32(packed[1:], crc32.Checksum(text, sums))
	copy(packed[prefix:], block)
	return packed
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
	case len(packed) < prefix:
		return nil, errDamaged
	}
	block := packed[prefix:]
	if n, err := s2.DecodedLen(block); err != nil || n != size {
		return nil, errDamaged
	}
	text, err := dictionary.Decode(nil, block)
	if err != nil || crc32.Checksum(text, sums) != binary.LittleEndian.Uint32(packed[1:]) {
		return nil, errDamaged
	}
	return text, nil
}
