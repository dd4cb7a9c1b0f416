package job

import (
	"regexp"
	"slices"
	"strings"

	"github.com/punctual-dev/punctual/internal/placeholder"
	"github.com/punctual-dev/punctual/internal/rawjson"
)

// Auth is how a job's requests prove who sends them. At most one member is set.
type Auth struct {
	OIDC *OIDCAuth
	MTLS string // the name of a secret with a client certificate; "" for none
	AWS  *AWSAuth
}

// OIDCAuth asks for a token (JWT) that the service issues, in the header Authorization.
type OIDCAuth struct {
	Audience string // "" for the origin of the job's URL
	Email    string // a claim that proves nothing; "" for none
}

// AWSAuth asks for a signature as AWS defines it (SigV4), by a secret with an access
// key.
type AWSAuth struct{ Secret, Service, Region string }

// Any reports whether anything is asked for.
func (a *Auth) Any() bool { return *a != Auth{} }

// SecretKind is what a secret contains.
type SecretKind string

// The kinds of secrets.
const (
	SecretForHeaders  SecretKind = "value"       // also OAuth2 client credentials
	SecretCertificate SecretKind = "certificate" // of a client, with its private key
	SecretAccessKey   SecretKind = "access_key"  // of AWS
)

const authField = "auth"

// Limits of auth, in bytes.
const (
	maxAudience = 2048
	maxEmail    = 254
	maxAWSName  = 64
)

// awsName matches the names of regions and services of AWS.
var awsName = regexp.MustCompile(`^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?$`)

const mustBeAuth = `must be an object with one of oidc, mtls and aws, as in {"oidc": {"audience": "https://api.example.com"}}`

// readAuth checks the field auth, except the secrets that it names.
func readAuth(r *reader, f *Field, v rawjson.Value) {
	if v.Kind() != '{' {
		r.refuse(Pointer(f.Name), "%s", mustBeAuth)
		return
	}
	given := 0
	for _, m := range rawjson.Members(v) {
		at := Pointer(f.Name, m.Name)
		read := map[string]func(*reader, string, rawjson.Value){"oidc": readOIDC, "mtls": readSecretName, "aws": readAWS}[m.Name]
		switch {
		case read == nil:
			r.refuse(at, "is not a known field; the known ones are oidc, mtls and aws")
			given++ // which says enough
		case !rawjson.IsNull(m.Value):
			given++
			read(r, at, m.Value)
		}
	}
	if given != 1 {
		r.refuse(Pointer(f.Name), "%s", mustBeAuth)
	}
}

// eachMember calls read for the members of an object that are not null, refuses those
// that are not known, and returns the names given. The object is at a pointer.
func (r *reader) eachMember(at string, v rawjson.Value, known []string, read func(name, at string, v rawjson.Value)) map[string]bool {
	given := map[string]bool{}
	if v.Kind() != '{' {
		r.refuse(at, "must be an object with %s", strings.Join(known, ", "))
		return nil
	}
	for _, m := range rawjson.Members(v) {
		member := at + strings.TrimPrefix(Pointer(m.Name), "#")
		switch {
		case !slices.Contains(known, m.Name):
			r.refuse(member, "is not a known field; the known ones are %s", strings.Join(known, ", "))
		case !rawjson.IsNull(m.Value):
			given[m.Name] = true
			read(m.Name, member, m.Value)
		}
	}
	return given
}

func readOIDC(r *reader, at string, v rawjson.Value) {
	if r.opts.NoIssuer {
		r.refuse(at, "needs an issuer of tokens; ask the operator to start the service with --public-url (PUNCTUAL_PUBLIC_URL) and --secrets-key-file (PUNCTUAL_SECRETS_KEY_FILE)")
	}
	r.eachMember(at, v, []string{"audience", "email"}, func(name, at string, v rawjson.Value) {
		most := maxAudience
		if name == "email" {
			most = maxEmail
		}
		if text := rawjson.Text(v); v.Kind() != '"' || text == "" || len(text) > most || strings.ContainsFunc(text, isControl) {
			r.refuse(at, "must be a string of 1 to %d bytes without control characters", most)
		}
	})
}

func isControl(c rune) bool { return c < ' ' || c == 0x7f }

func readAWS(r *reader, at string, v rawjson.Value) {
	names := []string{"secret", "service", "region"}
	given := r.eachMember(at, v, names, func(name, at string, v rawjson.Value) {
		if name == "secret" {
			readSecretName(r, at, v)
			return
		}
		if text := rawjson.Text(v); v.Kind() != '"' || len(text) > maxAWSName || !awsName.MatchString(text) {
			r.refuse(at, "must be the name of a %s of AWS in lower case, as in %s", name,
				map[string]string{"service": "lambda", "region": "eu-central-1"}[name])
		}
	})
	for _, name := range names {
		if given != nil && !given[name] {
			r.refuse(at+"/"+name, "is required")
		}
	}
}

func readSecretName(r *reader, at string, v rawjson.Value) {
	if v.Kind() != '"' || !placeholder.IsName(rawjson.Text(v)) {
		r.refuse(at, "must be the name of a secret")
	}
}

// authOf reads a validated auth.
func authOf(v rawjson.Value) (a Auth) {
	text := func(v rawjson.Value, name string) string {
		if member := rawjson.Get(v, name); !rawjson.IsNull(member) {
			return rawjson.Text(member)
		}
		return ""
	}
	a.MTLS = text(v, "mtls")
	if oidc := rawjson.Get(v, "oidc"); oidc.Kind() == '{' {
		a.OIDC = &OIDCAuth{Audience: text(oidc, "audience"), Email: text(oidc, "email")}
	}
	if aws := rawjson.Get(v, "aws"); aws.Kind() == '{' {
		a.AWS = &AWSAuth{Secret: text(aws, "secret"), Service: text(aws, "service"), Region: text(aws, "region")}
	}
	return a
}

// secret returns the secret that is named, of which kind it must be, and where that is;
// "" if none is.
func (a *Auth) secret() (name string, kind SecretKind, at string) {
	switch {
	case a.MTLS != "":
		return a.MTLS, SecretCertificate, Pointer(authField, "mtls")
	case a.AWS != nil:
		return a.AWS.Secret, SecretAccessKey, Pointer(authField, "aws", "secret")
	}
	return "", "", ""
}

// headers returns the names of the headers that auth sets, in lower case.
func (a *Auth) headers() []string {
	switch {
	case a.OIDC != nil:
		return []string{"authorization"}
	case a.AWS != nil:
		return []string{"authorization", "x-amz-date", "x-amz-security-token", "x-amz-content-sha256"}
	}
	return nil
}

// checkAuth checks auth beside the URL and the headers, and the secret that it names.
func checkAuth(r *reader, f *Field, v rawjson.Value) {
	if v.Kind() != '{' {
		return
	}
	a := authOf(v)
	own := a.headers()
	if headers := r.fields["headers"]; headers.Kind() == '{' && own != nil {
		c := rawjson.Walk(headers)
		for c.Enter(); c.More(); c.Value() {
			name := rawjson.Text(c.Name())
			if slices.Contains(own, strings.ToLower(name)) {
				r.refuse(Pointer("headers", name), "is set by auth; leave it out, or leave out auth")
			}
		}
	}
	for _, t := range r.targets() {
		if name := firstHeader(t.Headers, own); name != "" {
			r.refuse(Pointer(f.Name), "sets the header %s, and so does the group's target %s; remove it there, or leave out auth", name,
				t.URL)
			break
		}
	}
	targets := r.targetURLs()
	if a.MTLS != "" && slices.ContainsFunc(targets, IsPlainHTTP) {
		r.refuse(Pointer(f.Name, "mtls"), "works only with https; requests to http have no certificates")
	}
	if name, kind, at := a.secret(); placeholder.IsName(name) {
		r.checkSecret(name, kind, at)
	}
}

// firstHeader returns the first of the headers that has one of some names, which are in
// lower case; "" if none has.
func firstHeader(headers rawjson.Value, names []string) string {
	for _, m := range rawjson.Members(headers) {
		if slices.Contains(names, strings.ToLower(m.Name)) {
			return m.Name
		}
	}
	return ""
}
