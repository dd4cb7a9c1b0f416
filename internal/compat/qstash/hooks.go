package qstash

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"
	"golang.org/x/net/idna"

	"github.com/punctual-dev/punctual/internal/edge"
	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/httpapi"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/service"
	"github.com/punctual-dev/punctual/internal/workflow"
)

// Bounds of a call of a webhook, in bytes: its body, and the names and values of its
// headers together. As stored, both fit into the data of an event.
const (
	maxHookBody   = 256 << 10
	maxHookHeader = 32 << 10
)

// webhookEvent returns the event of a step that makes a webhook. The SDK chooses it.
func webhookEvent(out json.RawMessage) (string, error) {
	var text string
	var made struct {
		Event string `json:"eventId"`
	}
	if json.Unmarshal(out, &text) != nil || json.Unmarshal([]byte(text), &made) != nil || made.Event == "" {
		return "", bad("the step that creates a webhook must have the webhook's eventId in out, as the SDK has it")
	}
	if len(made.Event) < workflow.MinSecret {
		return "", bad("the eventId of a webhook must have at least " + strconv.Itoa(workflow.MinSecret) +
			" bytes, since whoever knows it can call the webhook")
	}
	return eventName(made.Event)
}

// hook returns the call of a webhook: values are the account, the run and the event.
func (a *API) hook(values []string) httpapi.ForeignRoute {
	var found *service.Hook
	return httpapi.ForeignRoute{
		Name: Prefix + hooks.path,
		Owner: func(r *http.Request) (owner job.Owner, secret string, err error) {
			id, err := uuid.Parse(values[0])
			if err != nil || len(values[0]) != len(id.String()) {
				return owner, "", fault.New(fault.NotFound, "there is no webhook at this address")
			}
			account, err := a.Auth.AccountWithID(r.Context(), id)
			if fault.CodeOf(err) == fault.NotFound {
				err = fault.New(fault.NotFound, "there is no webhook at this address")
			}
			if err != nil {
				return owner, "", err
			}
			if found, err = a.Service.FindHook(r.Context(), account.Owner, values[1], values[2]); err != nil {
				return owner, "", err
			}
			return account.Owner, found.Run + "/" + found.Event, nil
		},
		Serve: func(f *httpapi.ForeignCall) error {
			c := &call{ForeignCall: f, api: a, values: values}
			data, err := c.hookData()
			if err != nil {
				return err
			}
			if err := a.Service.CallHook(c.Request.Context(), found, data); err != nil {
				return err
			}
			return c.done()
		},
	}
}

// hookRequest is the request of a webhook as the SDK reads it, which makes a Request of it.
type hookRequest struct {
	Method string              `json:"method"`
	Proto  string              `json:"proto"`
	Host   string              `json:"host"`
	URL    string              `json:"url"`
	Header map[string][]string `json:"header"`
	Body   string              `json:"body,omitempty"` // in base64
}

// impossible are methods of which no Request can be made.
var impossible = []string{"CONNECT", "TRACE", "TRACK"}

// hookData reads the request of a webhook. The SDK throws if it can't make a Request of the
// data, which would fail the run: what it can't use is refused here, or left out.
func (c *call) hookData() ([]byte, error) {
	r := c.Request
	if slices.Contains(impossible, strings.ToUpper(r.Method)) {
		c.Header().Set("Allow", "GET, POST, PUT, PATCH, DELETE, HEAD, OPTIONS")
		return nil, fault.New(fault.MethodNotAllowed, "a webhook can't be called with "+r.Method)
	}
	body, err := c.ReadAll(workflow.MaxStepBytes)
	if err == nil && len(body) > maxHookBody {
		err = fault.New(fault.TooLarge, "the body of a call of a webhook may have up to "+strconv.Itoa(maxHookBody>>10)+
			" KiB; store it elsewhere and send where it is")
	}
	if err != nil {
		return nil, err
	}
	leave, err := c.EnterParsing(3 * len(body))
	if err != nil {
		return nil, err
	}
	defer leave()
	header, err := hookHeader(r.Header)
	if err != nil {
		return nil, err
	}
	proto, host, _ := strings.Cut(edge.Origin(r), "://")
	if !isPlainHost(host) {
		return nil, bad("the Host header must be a host name or an IP address, with or without a port")
	}
	sent := hookRequest{Method: r.Method, Proto: proto, Host: host, URL: r.URL.EscapedPath(), Header: header,
		Body: base64.StdEncoding.EncodeToString(body)}
	if r.URL.RawQuery != "" {
		sent.URL += "?" + asciiQuery(r.URL.RawQuery)
	}
	data, err := json.Marshal(&sent)
	if err == nil && len(data) > workflow.MaxEventBytes {
		err = &fault.Error{Code: fault.HeaderTooLarge, Message: "the headers of a call of a webhook are too large"}
	}
	return data, err
}

// dropped are header fields that say nothing to the run: those of the connection, and the
// coding of a body that was decoded. Cookies may be those of a user of the dashboard, who
// has the same origin.
var dropped = []string{
	"Connection", "Content-Encoding", "Content-Length", "Cookie", "Expect", "Keep-Alive", "Proxy-Authorization", "Proxy-Connection", "Te",
	"Trailer",
	"Transfer-Encoding", "Upgrade",
}

// hookHeader returns the header of a request with each byte of a value as the character
// with its number: other characters can't be in the header of a Request.
func hookHeader(h http.Header) (map[string][]string, error) {
	header, size := map[string][]string{}, 0
	for name, values := range h {
		if slices.Contains(dropped, name) {
			continue
		}
		for _, value := range values {
			if size += len(name) + len(value); size > maxHookHeader {
				return nil, &fault.Error{Code: fault.HeaderTooLarge, Message: "the headers of a call of a webhook may have up to " +
					strconv.Itoa(maxHookHeader>>10) + " KiB"}
			}
			characters := make([]rune, len(value))
			for i := range len(value) {
				characters[i] = rune(value[i])
			}
			header[name] = append(header[name], string(characters))
		}
	}
	return header, nil
}

// asciiQuery returns a query whose other bytes are escaped.
func asciiQuery(query string) string {
	var b strings.Builder
	for i := range len(query) {
		if c := query[i]; c <= ' ' || c > '~' {
			b.WriteString("%" + strings.ToUpper(strconv.FormatInt(int64(c)+0x100, 16)[1:]))
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

// isPlainHost reports whether every parser of URLs takes a text as a host: an IP address, or
// a name whose last label begins with a letter, with or without a port.
func isPlainHost(host string) bool {
	u, err := url.Parse("http://" + host)
	if err != nil || u.Host != host || u.User != nil {
		return false
	}
	if port := u.Port(); port != "" {
		if n, err := strconv.Atoi(port); err != nil || n > 65535 {
			return false
		}
	}
	name := u.Hostname()
	if addr, err := netip.ParseAddr(name); err == nil {
		return addr.Zone() == ""
	}
	labels := strings.Split(strings.TrimSuffix(name, "."), ".")
	for _, label := range labels {
		if label == "" || len(label) > 63 || strings.Trim(strings.ToLower(label), "abcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
			return false
		}
		if _, err := idna.Lookup.ToUnicode(label); err != nil && strings.HasPrefix(strings.ToLower(label), "xn--") {
			return false
		}
	}
	last := labels[len(labels)-1]
	return last[0] > '9'
}
