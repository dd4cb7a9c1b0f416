package auth

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"strings"
	"unicode/utf8"

	"golang.org/x/crypto/argon2"

	"github.com/punctual-dev/punctual/internal/fault"
)

// Parameters of argon2id as OWASP recommends them.
const (
	argonMemory  = 19 << 10 // KiB
	argonTime    = 2
	argonThreads = 1
	argonSalt    = 16
	argonHash    = 32
)

const (
	minPassword = 10  // characters
	maxPassword = 256 // characters
)

// hasher computes few hashes at once: each takes 19 MiB and a processor for
// tens of milliseconds, which would make jobs late.
type hasher struct{ *queue }

func newHasher() *hasher { return &hasher{newQueue()} }

// hash returns a password's hash in the PHC string format. It waits in the queue
// of a network.
func (h *hasher) hash(ctx context.Context, network, password string) (encoded string, err error) {
	err = h.do(ctx, network, func() {
		salt := make([]byte, argonSalt)
		_, _ = rand.Read(salt)
		encoded = encode(salt, argon2.IDKey([]byte(password), salt, argonTime, argonMemory, argonThreads, argonHash))
	})
	return encoded, err
}

func encode(salt, hash []byte) string {
	b := base64.RawStdEncoding
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, argonMemory, argonTime, argonThreads, b.EncodeToString(salt),
		b.EncodeToString(hash))
}

// nobody is a hash that no password has; checking it takes as long as any other.
var nobody = encode(make([]byte, argonSalt), make([]byte, argonHash))

// matches reports whether encoded is the hash of a password; false for nobody. It
// waits in the queue of a network.
func (h *hasher) matches(ctx context.Context, network, password, encoded string) (same bool, err error) {
	known := encoded != ""
	if !known {
		encoded = nobody
	}
	var version, memory, time, threads uint32
	parts := strings.Split(encoded, "$")
	if len(parts) != 6 || parts[1] != "argon2id" {
		return false, fmt.Errorf("a password's hash can't be read: it has %d parts", len(parts))
	}
	_, err1 := fmt.Sscanf(parts[2], "v=%d", &version)
	_, err2 := fmt.Sscanf(parts[3], "m=%d,t=%d,p=%d", &memory, &time, &threads)
	salt, err3 := base64.RawStdEncoding.DecodeString(parts[4])
	want, err4 := base64.RawStdEncoding.DecodeString(parts[5])
	if err1 != nil || err2 != nil || err3 != nil || err4 != nil || version != argon2.Version || time < 1 || threads < 1 || threads > 255 ||
		len(want) == 0 {
		return false, fmt.Errorf("a password's hash can't be read: its parameters are %s, %s", parts[2], parts[3])
	}
	err = h.do(ctx, network, func() {
		got := argon2.IDKey([]byte(password), salt, time, memory, uint8(threads), uint32(len(want)))
		same = equal(got, want) && known
	})
	return same, err
}

// checkPassword returns the problems of a new password, none if it is acceptable.
func checkPassword(email, password, pointer string) (problems []fault.Problem) {
	n := utf8.RuneCountInString(password)
	name, _, _ := strings.Cut(email, "@")
	low := strings.ToLower(password)
	why := ""
	switch {
	case n < minPassword:
		why = fmt.Sprintf("must have at least %d characters", minPassword)
	case n > maxPassword || !utf8.ValidString(password):
		why = fmt.Sprintf("must have at most %d characters", maxPassword)
	case low == email, low == name, strings.Trim(password, password[:1]) == "":
		why = "is too easy to guess; take a few words that only you would put together"
	}
	if why != "" {
		problems = append(problems, fault.Problem{Pointer: pointer, Detail: why})
	}
	return problems
}
