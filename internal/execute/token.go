package execute

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"strconv"
	"time"

	"github.com/punctual-dev/punctual/internal/rawjson"
)

// fieldToken is the field with the token that receivers of the QStash API verify.
const fieldToken = "Upstash-Signature"

// tokenLasts is how long such a token is valid.
const tokenLasts = 5 * time.Minute

// tokenHead is the header of the tokens, encoded.
var tokenHead = base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"HS256","typ":"JWT"}`))

// Token returns a JSON Web Token (RFC 7519) about a request with a body, signed with
// HMAC-SHA256: the issuer is Upstash, the subject the URL, and body the SHA-256 of the
// body in base64url.
func Token(key []byte, url string, now time.Time, body []byte) string {
	sum := sha256.Sum256(body)
	var id [16]byte
	_, _ = rand.Read(id[:]) // never fails
	claims := append(make([]byte, 0, 256+len(url)), `{"iss":"Upstash","sub":`...)
	claims = rawjson.AppendText(claims, url)
	seconds := now.Unix()
	claims = strconv.AppendInt(append(claims, `,"exp":`...), seconds+int64(tokenLasts/time.Second), 10)
	claims = strconv.AppendInt(append(claims, `,"nbf":`...), seconds, 10)
	claims = strconv.AppendInt(append(claims, `,"iat":`...), seconds, 10)
	claims = base64.RawURLEncoding.AppendEncode(append(claims, `,"jti":"jwt_`...), id[:])
	claims = base64.RawURLEncoding.AppendEncode(append(claims, `","body":"`...), sum[:])
	claims = append(claims, `"}`...)

	token := append(make([]byte, 0, len(tokenHead)+2*len(claims)+64), tokenHead...)
	token = base64.RawURLEncoding.AppendEncode(append(token, '.'), claims)
	mac := hmac.New(sha256.New, key)
	mac.Write(token)
	return string(base64.RawURLEncoding.AppendEncode(append(token, '.'), mac.Sum(nil)))
}

// address returns the URL of the next hop as its target knows it: that of the request,
// as it was given, or that of a redirect.
func (a *attempt) address() string {
	if !a.redirected {
		return a.req.URL
	}
	return a.url.String()
}
