package textpack

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"math/rand/v2"
	"strings"
	"testing"
)

const (
	requestText  = `{"body":{"author":"alex","content":"Hello world!","n":12345,"$job":{"id":233},"$previous":{},"$state":{}},"headers":{"x-trace":"0123456789abcdef0123456789abcdef"},"query":{},"url":"https://example.com/hook"}`
	responseText = `{"status":200,"headers":{"Content-Length":"60","Content-Type":"application/json","Date":"Sun, 22 Nov 2026 14:04:20 GMT"},"body":{"ok":true},"duration_ms":5.947,"truncated":false}`
	argsText     = `{"method":"post","url":"https://example.com/hook","scheduled_at":"2026-11-22T15:04:16.615700Z","body":{"author":"alex","content":"Hello world!","n":12345},"headers":{"x-trace":"0123456789abcdef0123456789abcdef"}}`
)

func unpacked(t *testing.T, text string) {
	t.Helper()
	packed := Pack([]byte(text))
	if packed == nil {
		return
	}
	if most := len(text) - len(text)/8; len(packed) > most {
		t.Errorf("%.40q takes %d bytes packed, want at most %d", text, len(packed), most)
	}
	got, err := Unpack(packed, len(text))
	if err != nil || string(got) != text {
		t.Errorf("%.40q is unpacked as %.40q (%v)", text, got, err)
	}
}

func TestPack_SavesWhatTextsHaveInCommon(t *testing.T) {
	for _, c := range []struct {
		text string
		most int // bytes
	}{{requestText, 145}, {responseText, 75}, {argsText, 145}, {`{"data":"` + strings.Repeat("x", 4000) + `"}`, 80}} {
		packed := Pack([]byte(c.text))
		if packed == nil || len(packed) > c.most {
			t.Errorf("%.30q of %d bytes takes %d, want at most %d", c.text, len(c.text), len(packed), c.most)
		}
		unpacked(t, c.text)
	}
}

// A change of the dictionary or the format makes stored texts unreadable.
func TestUnpack_ReadsWhatWasStored(t *testing.T) {
	sum := sha256.Sum256([]byte(dictionary1 + start1))
	if got := hex.EncodeToString(sum[:8]); got != dictionarySum {
		t.Errorf("the dictionary has the sum %s, want %s: a better dictionary needs a new number", got, dictionarySum)
	}
	packed, err := hex.DecodeString(storedRequest)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := Unpack(packed, len(requestText)); err != nil || string(got) != requestText {
		t.Errorf("a stored text is read as %q (%v); it is packed as %x today", got, err, Pack([]byte(requestText)))
	}
}

func TestPack_LeavesTextsThatGainNothing(t *testing.T) {
	random := make([]byte, 1000)
	source := rand.NewChaCha8([32]byte{1})
	_, _ = source.Read(random)
	for _, text := range [][]byte{nil, []byte(`{}`), []byte(`{"status":200}`), random, bytes.Repeat([]byte("x"), MaxSize+1)} {
		if packed := Pack(text); packed != nil {
			t.Errorf("%.20q of %d bytes is packed in %d", text, len(text), len(packed))
		}
	}
}

func TestPack_KeepsAnyText(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	for range 3000 {
		var b []byte
		for size := r.IntN(MaxSize + 1); len(b) < size; {
			switch r.IntN(4) {
			case 0:
				at := r.IntN(len(dictionary1))
				b = append(b, dictionary1[at:min(len(dictionary1), at+r.IntN(90))]...)
			case 1:
				b = append(b, bytes.Repeat([]byte{byte(r.IntN(256))}, r.IntN(700))...)
			case 2:
				if len(b) > 0 {
					at := r.IntN(len(b))
					b = append(b, b[at:min(len(b), at+r.IntN(400))]...)
				}
			default:
				for range r.IntN(200) {
					b = append(b, byte(r.IntN(256)))
				}
			}
		}
		unpacked(t, string(b[:min(len(b), MaxSize)]))
	}
}

func TestUnpack_RefusesDamagedTexts(t *testing.T) {
	packed := Pack([]byte(responseText))
	for name, c := range map[string]struct {
		packed []byte
		size   int
	}{
		"nothing":              {nil, 10},
		"too small":            {packed, len(responseText) - 1},
		"too large":            {packed, len(responseText) + 1},
		"above the bound":      {packed, MaxSize + 1},
		"a negative size":      {packed, -1},
		"an end cut off":       {packed[:len(packed)-1], len(responseText)},
		"another dictionary":   {append([]byte{2}, packed[1:]...), len(responseText)},
		"nothing but a number": {packed[:1], 0},
		"no length":            {[]byte{1, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff}, 4},
		"a sum cut off":        {packed[:prefix-1], 0},
		"another sum":          {append([]byte{1, 0, 0, 0, 0}, packed[prefix:]...), len(responseText)},
		"before the beginning": {[]byte{1, 0, 0, 0, 0, 4, 3<<2 | 2, 0xff, 0xff}, 4},
		"an offset cut off":    {[]byte{1, 0, 0, 0, 0, 4, 3<<2 | 2, 0}, 4},
		"a length cut off":     {[]byte{1, 0, 0, 0, 0, 67, 61 << 2}, 67},
	} {
		if got, err := Unpack(c.packed, c.size); err == nil {
			t.Errorf("%s: read as %q", name, got)
		}
	}
}

// A text in which one bit has changed is refused, or is still the text.
func TestUnpack_NoticesEveryWrongBit(t *testing.T) {
	for _, text := range []string{requestText, responseText, argsText} {
		packed := Pack([]byte(text))
		for bit := range len(packed) * 8 {
			packed[bit/8] ^= 1 << (bit % 8)
			if got, err := Unpack(packed, len(text)); err == nil && string(got) != text {
				t.Errorf("with bit %d wrong %.40q is unpacked as %.200q", bit, text, got)
			}
			packed[bit/8] ^= 1 << (bit % 8)
		}
	}
}

func FuzzUnpack(f *testing.F) {
	f.Add(Pack([]byte(responseText)), len(responseText))
	f.Add([]byte{1, 0, 0, 0, 0, 0xc4, 0x02, 0xff, 0, 0, 0xff}, 324)
	f.Fuzz(func(t *testing.T, packed []byte, size int) {
		if got, err := Unpack(packed, size); err == nil && len(got) != size {
			t.Fatalf("%d bytes, want %d", len(got), size)
		}
	})
}

func FuzzPack(f *testing.F) {
	for _, text := range []string{requestText, responseText, argsText} {
		f.Add(text)
	}
	f.Fuzz(unpacked)
}

func BenchmarkPack(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		Pack([]byte(requestText))
	}
}

func BenchmarkUnpack(b *testing.B) {
	packed := Pack([]byte(requestText))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Unpack(packed, len(requestText)); err != nil {
			b.Fatal(err)
		}
	}
}

// dictionarySum begins the SHA-256 sum of the dictionary; storedRequest is how requestText
// is stored.
const (
	dictionarySum = "4ec1e7403086e697"
	storedRequest = "010058fc23cf01792d30617574686f72223a22616c657832b6045848656c6c6f20776f726c6421222c226e223a3132333435366c0208323333a237026822782d7472616365223a22303132333435363738396162636465663e100000226e63028124110014686f6f6b227d"
)
