package job

import (
	"bytes"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/idna"

	"github.com/punctual-dev/punctual/internal/placeholder"
	"github.com/punctual-dev/punctual/internal/rawjson"
)

// MaxSecretUses is how many placeholders for secrets the headers of a job may
// have. It bounds the size of a request, because a value may be much longer than
// its placeholder.
const MaxSecretUses = 32

// checkSecrets checks the placeholders in headers.
func checkSecrets(r *reader, _ *Field, headers rawjson.Value) {
	if headers.Kind() != '{' {
		return
	}
	uses := 0
	eachHeaderText(headers, func(text string, path ...string) bool {
		parts, wellFormed := placeholder.Parse(text)
		if !wellFormed {
			r.refuse(Pointer(path...), "has a placeholder that can't be read; write {{secret.NAME}}, or {{{{ for a literal {{")
		}
		var seen []string
		for _, p := range parts {
			if p.Secret == "" {
				continue
			}
			uses++
			if slices.Contains(seen, p.Secret) {
				continue
			}
			seen = append(seen, p.Secret)
			r.checkSecret(p.Secret, SecretForHeaders, Pointer(path...))
		}
		return uses <= MaxSecretUses
	})
	if uses > MaxSecretUses {
		r.refuse("#/headers", "must have at most %d placeholders for secrets", MaxSecretUses)
	}
}

// checkSecret refuses a secret, at a pointer, that may not be used for the request's
// targets.
func (r *reader) checkSecret(name string, kind SecretKind, at string) {
	if r.opts.CheckSecret == nil {
		return
	}
	for _, target := range r.targetURLs() {
		if why := r.opts.CheckSecret(name, target, kind); why != "" {
			r.refuse(at, "%s", why)
			return
		}
	}
}

// eachHeaderText calls visit for the strings among the values of headers, with
// their paths, until it returns false.
func eachHeaderText(headers rawjson.Value, visit func(text string, path ...string) bool) {
	c := rawjson.Walk(headers)
	more := true
	text := func(path ...string) {
		v := c.Value()
		if more && v.Kind() == '"' {
			more = visit(rawjson.Text(v), path...)
		}
	}
	for c.Enter(); c.More(); {
		name := rawjson.Text(c.Name())
		if c.Kind() != '[' {
			text("headers", name)
			continue
		}
		i := 0
		for c.Enter(); c.More(); i++ {
			text("headers", name, strconv.Itoa(i))
		}
	}
}

// SecretNames returns the names of the secrets that the headers and the auth of a job
// refer to, without repetitions and at most MaxSecretUses of them.
func SecretNames(j *Job) []string {
	names := slices.Clone(j.Hidden.Secrets)
	if !mayUseSecrets(j.Args) {
		return names
	}
	spec := ReadSpec(j.Args)
	var used []string
	if name, _, _ := spec.Auth.secret(); name != "" {
		used = append(used, name)
	}
	if spec.Headers.Kind() == '{' {
		used = append(used, secretsIn(spec.Headers)...)
	}
	for _, name := range used {
		if !slices.Contains(names, name) && len(names) < MaxSecretUses {
			names = append(names, name)
		}
	}
	return names
}

// MayUseSecrets reports whether a job may refer to secrets, without parsing its args.
func MayUseSecrets(j *Job) bool { return len(j.Hidden.Secrets) > 0 || mayUseSecrets(j.Args) }

func mayUseSecrets(args rawjson.Value) bool {
	for _, sign := range []string{"secret.", `"mtls"`, `"aws"`, `\u`} {
		if bytes.Contains(args, []byte(sign)) {
			return true
		}
	}
	return false
}

// Host returns the host name of a URL in lower case, without its port.
func Host(target string) string {
	u, err := url.Parse(target)
	if err != nil {
		return ""
	}
	return HostName(u)
}

// IsPlainHTTP reports whether the requests to a URL are not encrypted.
func IsPlainHTTP(target string) bool {
	u, err := url.Parse(target)
	return err == nil && u.Scheme == "http"
}

// HostName is Host for a parsed URL.
func HostName(u *url.URL) string { return normalHost(u.Hostname()) }

// normalHost returns a host name in lower case and in ASCII, without a final dot.
func normalHost(host string) string {
	return strings.ToLower(ASCIIHost(strings.TrimSuffix(host, ".")))
}

// ASCIIHost returns a host name in ASCII (IDNA 2008 as UTS 46 has it); a name that can't
// be converted as it is. Names in ASCII are not checked: underscores are in use.
func ASCIIHost(host string) string {
	for i := range len(host) {
		if host[i] >= utf8.RuneSelf {
			if ascii, err := idna.Lookup.ToASCII(host); err == nil {
				return ascii
			}
			break
		}
	}
	return host
}

// ReadHost reads the name of a host: a name or an address, without a port. It returns
// the name as Host does. The second result says why text is not one; it is "" if it
// is.
func ReadHost(text string) (host, why string) {
	const must = "must be a host name without a port, as in api.example.com"
	if len(text) > 4*maxHost {
		return "", must
	}
	inner, bracketed := strings.CutPrefix(text, "[")
	if bracketed {
		if inner, bracketed = strings.CutSuffix(inner, "]"); !bracketed {
			return "", must
		}
	}
	if bracketed = bracketed || strings.Contains(text, ":"); !validHost(inner, bracketed) {
		return "", must
	}
	return normalHost(inner), ""
}

// CheckURL returns why text is not an https URL that can be called, or "" if it is.
// The function checkHost, which may be nil, does so for its host.
func CheckURL(text string, checkHost func(host string) string) string {
	if u, err := url.Parse(text); err == nil && ToListener(u) {
		return "must not have the host " + ListenHost + ": listeners get only what jobs, callbacks and webhooks send"
	}
	if u, err := url.Parse(text); err == nil && u.Scheme == "http" {
		return "must use https" // whatever targets may use
	}
	return (&ReadOptions{CheckHost: checkHost}).whyNotURL(text)
}
