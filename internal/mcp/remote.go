package mcp

import (
	"net/http"
	"net/url"
	"strings"
)

// remote is the API of a service at an address.
type remote struct {
	http.Client
	base       *url.URL
	key, agent string
}

// Remote returns the API of the service at an address, with a key. The address is that of
// the other commands: a scheme, a host and perhaps a path.
func Remote(address, key, version string) (API, error) {
	base, err := url.Parse(strings.TrimSuffix(address, "/"))
	if err != nil {
		return nil, err
	}
	r := &remote{base: base, key: key, agent: "punctual/" + version + " (mcp)"}
	// A key is only for the service itself.
	r.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return r, nil
}

// Do implements API.
func (r *remote) Do(request *http.Request) (*http.Response, error) {
	target := *request.URL
	target.Scheme, target.Host = r.base.Scheme, r.base.Host
	target.RawPath = r.base.EscapedPath() + request.URL.EscapedPath()
	target.Path = r.base.Path + request.URL.Path
	request.URL = &target
	request.Header.Set("Authorization", "Bearer "+r.key)
	request.Header.Set("User-Agent", r.agent)
	return r.Client.Do(request)
}
