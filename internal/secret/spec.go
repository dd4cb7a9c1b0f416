package secret

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/placeholder"
	"github.com/punctual-dev/punctual/internal/rawjson"
)

// The limits of a secret.
const (
	// MaxValue is the greatest length of a value and of a client secret, in bytes.
	MaxValue = 8 << 10
	// MaxHosts is how many hosts a secret may have.
	MaxHosts = 20

	maxClientID = 1 << 10
	maxScope    = 2 << 10
)

// content is what is encrypted: a value, or credentials that are exchanged for
// one.
type content struct {
	Value       string       `json:"value,omitempty"`
	OAuth2      *credentials `json:"oauth2,omitempty"`
	Certificate *clientCert  `json:"certificate,omitempty"`
	AccessKey   *accessKey   `json:"access_key,omitempty"`
	http        bool         // whether it may be sent over http
}

// kind returns what the content is for.
func (c *content) kind() job.SecretKind {
	switch {
	case c.Certificate != nil:
		return job.SecretCertificate
	case c.AccessKey != nil:
		return job.SecretAccessKey
	}
	return job.SecretForHeaders
}

// kindNames say what a secret of each kind is, as part of a sentence.
var kindNames = map[job.SecretKind]string{
	job.SecretForHeaders: "a value for headers", job.SecretCertificate: "a client certificate (certificate and private_key)",
	job.SecretAccessKey: "an access key of AWS (access_key_id and secret_access_key)",
}

// credentials are OAuth2 client credentials (RFC 6749, section 4.4).
type credentials struct {
	TokenURL     string `json:"token_url"`
	ClientID     string `json:"client_id"`
	ClientSecret string `json:"client_secret"`
	Scope        string `json:"scope,omitempty"`
}

func (c *content) encode() (string, error) {
	text, err := json.Marshal(c)
	return string(text), err
}

// spec is the request to store a secret.
type spec struct {
	content
	hosts []string
	http  bool
}

// reader reads a spec and collects its problems, none of which repeats a value.
type reader struct {
	problems  fault.Problems
	checkHost func(host string) string
}

func (r *reader) refuse(detail string, path ...string) {
	r.problems.Add(fault.Problem{Pointer: job.Pointer(path...), Detail: detail})
}

// The names of the fields of a secret, and of its credentials.
var (
	fields = []string{"value", "oauth2", "certificate", "private_key", "access_key_id", "secret_access_key", "session_token",
		"hosts", "http"}
	credentialFields = []string{"token_url", "client_id", "client_secret", "scope"}
)

// readSpec reads the body of a request to store a secret.
func readSpec(name string, body rawjson.Value, checkHost func(host string) string) (*spec, error) {
	r := &reader{checkHost: checkHost}
	if !placeholder.IsName(name) {
		r.problems.Add(fault.Problem{Parameter: "name",
			Detail: fmt.Sprintf("must have 1 to %d letters, digits, dots, hyphens and underscores, and begin with a letter or digit",
				placeholder.MaxName)})
	}
	if body.Kind() != '{' {
		r.refuse("must be a JSON object with hosts and with value, oauth2, certificate and private_key, or access_key_id and secret_access_key")
		return nil, r.problems.Err()
	}
	s := &spec{}
	given := map[string]bool{}
	for _, m := range rawjson.Members(body) {
		if rawjson.IsNull(m.Value) && slices.Contains(fields, m.Name) {
			continue
		}
		given[m.Name] = true
		switch m.Name {
		case "value":
			s.Value = r.text(m.Value, 1, MaxValue, "value")
		case "hosts":
			s.hosts = r.hosts(m.Value)
		case "oauth2":
			s.OAuth2 = r.oauth2(m.Value)
		case "http":
			s.http = r.boolean(m.Value, m.Name)
		case "certificate", "private_key", "access_key_id", "secret_access_key", "session_token":
		default:
			r.unknown(m.Name, fields)
		}
	}
	if !given["hosts"] {
		r.refuse("is required: the hosts that may receive the secret", "hosts")
	}
	r.kinds(s, body, given)
	return s, r.problems.Err()
}

// kinds reads the fields of certificates and access keys, and verifies that a secret is
// of one kind.
func (r *reader) kinds(s *spec, body rawjson.Value, given map[string]bool) {
	first, firstName, told := "", "", false
	for _, kind := range [][]string{{"value"}, {"oauth2"}, {"certificate", "private_key"},
		{"access_key_id", "secret_access_key", "session_token"}} {
		for _, name := range kind {
			switch {
			case !given[name]:
			case first == "":
				first, firstName = kind[0], name
			case first != kind[0]:
				if !told {
					told = true
					r.refuse("excludes "+name+"; give one of them", firstName)
				}
				r.refuse("excludes "+first+"; give one of them", name)
			}
		}
	}
	switch first {
	case "":
		r.refuse("is required, or instead of it oauth2, certificate and private_key, or access_key_id and secret_access_key", "value")
	case "certificate":
		s.Certificate = r.certificate(body, given)
	case "access_key_id":
		s.AccessKey = r.accessKey(body, given)
	}
}

// unknown refuses a field. Its name is repeated only if it looks like one: it may be a
// value that is not where it should be.
func (r *reader) unknown(name string, known []string, path ...string) {
	last := len(known) - 1
	are := "; the known ones are " + strings.Join(known[:last], ", ") + " and " + known[last]
	if _, ok := job.Misspelt(name, known); ok || looksLikeField(name) {
		r.refuse("is not a known field"+are, append(path, name)...)
	} else {
		r.refuse("has a field that is not known"+are, path...)
	}
}

// looksLikeField reports whether a name has only letters, underscores and hyphens, and few
// of them. Most tokens and passwords have more, or a digit.
func looksLikeField(name string) bool {
	const most = 20
	return name != "" && len(name) <= most && strings.Trim(strings.ToLower(name), "abcdefghijklmnopqrstuvwxyz_-") == ""
}

// boolean reads true or false.
func (r *reader) boolean(v rawjson.Value, path ...string) bool {
	if v.Kind() != 't' && v.Kind() != 'f' {
		r.refuse("must be true or false", path...)
	}
	return v.Kind() == 't'
}

// text reads a string that can be part of a header value.
func (r *reader) text(v rawjson.Value, least, most int, path ...string) string {
	if v.Kind() != '"' {
		r.refuse("must be a string", path...)
		return ""
	}
	text := rawjson.Text(v)
	if why := whyNotText(text, least, most); why != "" {
		r.refuse(why, path...)
	}
	return text
}

func whyNotText(text string, least, most int) string {
	switch {
	case len(text) < least:
		return "must not be empty"
	case len(text) > most:
		return "must have at most " + strconv.Itoa(most) + " bytes"
	case strings.TrimSpace(text) != text:
		return "must not begin or end with white space"
	}
	for _, c := range []byte(text) {
		if c < ' ' && c != '\t' || c > '~' {
			return "must have visible characters of ASCII and spaces only, as header values do"
		}
	}
	return ""
}

func (r *reader) hosts(v rawjson.Value) []string {
	if v.Kind() != '[' {
		r.refuse("must be a list of host names", "hosts")
		return nil
	}
	elements := rawjson.Elements(v)
	if len(elements) == 0 || len(elements) > MaxHosts {
		r.refuse("must have 1 to "+strconv.Itoa(MaxHosts)+" host names", "hosts")
		return nil
	}
	hosts := make([]string, 0, len(elements))
	seen := map[string]bool{}
	for i, e := range elements {
		at := strconv.Itoa(i)
		if e.Kind() != '"' {
			r.refuse("must be a string", "hosts", at)
			continue
		}
		host, why := job.ReadHost(rawjson.Text(e))
		if why != "" {
			r.refuse(why, "hosts", at)
			continue
		}
		if !seen[host] {
			seen[host] = true
			hosts = append(hosts, host)
		}
	}
	return hosts
}

func (r *reader) oauth2(v rawjson.Value) *credentials {
	if v.Kind() != '{' {
		r.refuse("must be an object with token_url, client_id, client_secret and perhaps scope", "oauth2")
		return nil
	}
	c := &credentials{}
	given := map[string]bool{}
	for _, m := range rawjson.Members(v) {
		given[m.Name] = !rawjson.IsNull(m.Value)
		if !given[m.Name] {
			continue
		}
		switch m.Name {
		case "token_url":
			c.TokenURL = r.tokenURL(m.Value)
		case "client_id":
			c.ClientID = r.text(m.Value, 1, maxClientID, "oauth2", m.Name)
		case "client_secret":
			c.ClientSecret = r.text(m.Value, 1, MaxValue, "oauth2", m.Name)
		case "scope":
			c.Scope = r.text(m.Value, 0, maxScope, "oauth2", m.Name)
		default:
			r.unknown(m.Name, credentialFields, "oauth2")
		}
	}
	for _, name := range []string{"token_url", "client_id", "client_secret"} {
		if !given[name] {
			r.refuse("is required", "oauth2", name)
		}
	}
	return c
}

func (r *reader) tokenURL(v rawjson.Value) string {
	if v.Kind() != '"' {
		r.refuse("must be a string", "oauth2", "token_url")
		return ""
	}
	text := rawjson.Text(v)
	if why := job.CheckURL(text, r.checkHost); why != "" {
		r.refuse(why, "oauth2", "token_url")
	}
	return text
}
