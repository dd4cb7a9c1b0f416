package auth

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha1"
	"encoding/base32"
	"encoding/binary"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/punctual-dev/punctual/internal/identity"
)

// Parameters of RFC 6238, as authenticator apps use them by default.
const (
	totpStep   = 30 * time.Second
	totpDigits = 6
	totpSecret = 20 // bytes, the size of a SHA-1 hash (RFC 4226, section 4)
	// totpSkew is how many steps before and after the current one are accepted.
	totpSkew = 1
)

// Recovery codes: their number, and the bytes of each.
const (
	recoveryCodes = 10
	recoveryBytes = 10
)

var base32Text = base32.StdEncoding.WithPadding(base32.NoPadding)

func newTOTPSecret() []byte {
	b := make([]byte, totpSecret)
	_, _ = rand.Read(b)
	return b
}

// totpCode returns the code of a time step (RFC 4226, section 5.3).
func totpCode(secret []byte, step int64) string {
	mac := hmac.New(sha1.New, secret)
	_ = binary.Write(mac, binary.BigEndian, step) // a hash never fails
	sum := mac.Sum(nil)
	offset := sum[len(sum)-1] & 0xf
	n := binary.BigEndian.Uint32(sum[offset:]) & 0x7fffffff
	return fmt.Sprintf("%0*d", totpDigits, n%1_000_000)
}

// totpStepOf returns the time step of a code, if it is within the skew of now and
// later than the last accepted step. It takes constant time.
func totpStepOf(v *identity.TOTP, code string, now time.Time) (step int64, ok bool) {
	present := now.Unix() / int64(totpStep/time.Second)
	for s := present - totpSkew; s <= present+totpSkew; s++ {
		if equal([]byte(totpCode(v.Secret, s)), []byte(code)) && s > v.LastStep {
			step, ok = s, true
		}
	}
	return step, ok
}

// newRecoveryCodes returns new codes, formatted for people, and their hashes.
func newRecoveryCodes() (codes []string, hashes [][]byte) {
	for range recoveryCodes {
		b := make([]byte, recoveryBytes)
		_, _ = rand.Read(b)
		text := strings.ToLower(base32Text.EncodeToString(b))
		codes = append(codes, text[:4]+"-"+text[4:8]+"-"+text[8:12]+"-"+text[12:])
		hashes = append(hashes, hashKey(text))
	}
	return codes, hashes
}

// bareCode returns a code without separators.
func bareCode(typed string) string {
	return strings.ToLower(strings.Map(func(r rune) rune {
		if r == ' ' || r == '-' || r == '\t' {
			return -1
		}
		return r
	}, typed))
}

// TOTPText returns a second factor's secret formatted for typing into an app.
func TOTPText(v *identity.TOTP) string {
	text := base32Text.EncodeToString(v.Secret)
	var parts []string
	for ; len(text) > 4; text = text[4:] {
		parts = append(parts, text[:4])
	}
	return strings.Join(append(parts, text), " ")
}

// TOTPAddress returns the otpauth URI for an app to scan.
func TOTPAddress(v *identity.TOTP, email string) string {
	return "otpauth://totp/punctual:" + url.PathEscape(email) + "?secret=" + base32Text.EncodeToString(v.Secret) + "&issuer=punctual"
}
