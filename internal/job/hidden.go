package job

import (
	"bytes"
	"encoding/base64"
	"errors"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/placeholder"
	"github.com/punctual-dev/punctual/internal/rawjson"
)

// RedactedText stands in records, logs and messages for what a job's redact names.
const RedactedText = "[redacted]"

var redacted = rawjson.Quote(RedactedText)

func isRedacted(v rawjson.Value) bool { return v.Kind() == '"' && rawjson.Text(v) == RedactedText }

// Hidden is what a record's redact takes out of its args, as tokens of a Sealer. Args
// have RedactedText in its place, so whatever shows args hides it. Stores keep both as
// one text; see JoinArgs.
type Hidden struct {
	// Body is the value of body or body_base64; "" if it is not hidden.
	Body string
	// Headers is an object of the hidden headers with their values; "" if there are none.
	Headers string
	// Secrets are the names of the secrets that the hidden headers refer to.
	Secrets []string
}

// IsZero reports whether nothing is hidden.
func (h *Hidden) IsZero() bool { return h.Body == "" && h.Headers == "" }

// Size returns how many bytes it takes at rest.
func (h *Hidden) Size() int { return len(h.Body) + len(h.Headers) }

// Parts of a record that a Sealer keeps apart.
const (
	hiddenBody     = "body"
	hiddenHeaders  = "headers"
	hiddenPrevious = "previous"
	hiddenReport   = "report"
)

// Sealer turns what nobody may see into tokens for the store, and back. Tokens are made
// for one account and one part. They consist of letters, digits and the characters
// : + / and =.
type Sealer interface {
	Seal(account uuid.UUID, part string, text []byte) (string, error)
	// Open returns an error whose text can be shown if the token can't be read.
	Open(account uuid.UUID, part, token string) ([]byte, error)
}

// Plain is the Sealer of a service without keys: it encrypts nothing.
type Plain struct{}

const plainToken = "plain:"

// Seal implements Sealer.
func (Plain) Seal(_ uuid.UUID, _ string, text []byte) (string, error) {
	return plainToken + base64.StdEncoding.EncodeToString(text), nil
}

// Open implements Sealer.
func (Plain) Open(_ uuid.UUID, _, token string) ([]byte, error) {
	encoded, plain := strings.CutPrefix(token, plainToken)
	if !plain {
		return nil, errors.New("it is encrypted: start the service with --secrets-key-file")
	}
	return base64.StdEncoding.DecodeString(encoded)
}

// orPlain returns the Sealer; Plain for nil.
func orPlain(s Sealer) Sealer {
	if s == nil {
		return Plain{}
	}
	return s
}

// The last member of args at rest, if something is hidden. No field has this name.
const hiddenMember = `"$hidden":`

// JoinArgs returns args with what is hidden of them, as stores keep both.
func JoinArgs(args rawjson.Value, h *Hidden) rawjson.Value {
	if h.IsZero() || len(args) < 2 {
		return args
	}
	b := append(make([]byte, 0, len(args)+h.Size()+64), args[:len(args)-1]...)
	b = append(append(b, `,`+hiddenMember+`{"body":"`...), h.Body...)
	b = append(append(b, `","headers":"`...), h.Headers...)
	b = append(append(b, `","secrets":"`...), strings.Join(h.Secrets, " ")...)
	return append(b, `"}}`...)
}

// SplitArgs reads what JoinArgs returned. Args that clients gave never have the member:
// a name can't have this text without escapes elsewhere than as the name of a member,
// and the member is told from one inside of the body by the braces behind it.
func SplitArgs(stored rawjson.Value) (rawjson.Value, Hidden) {
	at := bytes.LastIndexByte(stored, '{')
	if at < 0 || !bytes.HasSuffix(stored, []byte(`"}}`)) || !bytes.HasSuffix(stored[:at], []byte(`,`+hiddenMember)) ||
		bytes.IndexByte(stored[at:], '}') != len(stored)-at-2 {
		return stored, Hidden{}
	}
	var h Hidden
	for _, m := range rawjson.Members(stored[at : len(stored)-1]) {
		switch text := rawjson.Text(m.Value); m.Name {
		case "body":
			h.Body = text
		case "headers":
			h.Headers = text
		case "secrets":
			h.Secrets = strings.Fields(text)
		}
	}
	begin := at - len(`,`+hiddenMember)
	return append(stored[:begin:begin], '}'), h
}

// JoinPrevious returns a schedule's $previous as stores keep it.
func JoinPrevious(s *Schedule) rawjson.Value {
	if s.HiddenPrevious == "" {
		return s.Previous
	}
	return rawjson.Value(`{` + hiddenMember + `"` + s.HiddenPrevious + `"}`)
}

// SplitPrevious sets a schedule's $previous from what JoinPrevious returned.
func SplitPrevious(s *Schedule, stored rawjson.Value) {
	s.Previous, s.HiddenPrevious = stored, ""
	if LooksHidden(stored) {
		s.Previous, s.HiddenPrevious = redacted, rawjson.Text(rawjson.Members(stored)[0].Value)
	}
}

// LooksHidden reports whether a value has the form of a hidden $previous. A response of
// this form has to be hidden, so that it is told from one.
func LooksHidden(v rawjson.Value) bool {
	if !bytes.HasPrefix(v, []byte(`{`+hiddenMember+`"`)) {
		return false
	}
	members := rawjson.Members(v)
	return len(members) == 1 && members[0].Value.Kind() == '"'
}

// HidePrevious returns the token for a response that becomes $previous.
func HidePrevious(s Sealer, owner Owner, response rawjson.Value) (string, error) {
	return orPlain(s).Seal(owner.ID, hiddenPrevious, response)
}

// OpenPrevious returns a schedule's $previous; nil if there is none. It is for sending
// only.
func OpenPrevious(s Sealer, of *Schedule) (rawjson.Value, error) {
	if of == nil || of.HiddenPrevious == "" {
		return nil, nil
	}
	return orPlain(s).Open(of.Owner.ID, hiddenPrevious, of.HiddenPrevious)
}

// HideReport returns a report as the store keeps it until it counts.
func HideReport(s Sealer, owner Owner, report rawjson.Value) (rawjson.Value, error) {
	token, err := orPlain(s).Seal(owner.ID, hiddenReport, report)
	return rawjson.Quote(token), err
}

// OpenReport returns a report that the store has kept, hidden or not.
func OpenReport(s Sealer, owner Owner, kept rawjson.Value) (rawjson.Value, error) {
	if kept.Kind() != '"' {
		return kept, nil
	}
	return orPlain(s).Open(owner.ID, hiddenReport, rawjson.Text(kept))
}

// parts are hidden values as they are sent.
type parts struct{ body, headers rawjson.Value }

// open returns what is hidden.
func (h *Hidden) open(s Sealer, account uuid.UUID) (p parts, err error) {
	if h.Body != "" {
		if p.body, err = orPlain(s).Open(account, hiddenBody, h.Body); err != nil {
			return parts{}, err
		}
	}
	if h.Headers != "" {
		p.headers, err = orPlain(s).Open(account, hiddenHeaders, h.Headers)
	}
	return p, err
}

// reveal returns args with what is hidden in them, for sending and for checks.
func (p parts) reveal(args rawjson.Value) rawjson.Value {
	if p.body == nil && p.headers == nil {
		return args
	}
	members := rawjson.Members(args)
	for i, m := range members {
		switch {
		case p.body != nil && isBody(m.Name) && isRedacted(m.Value):
			members[i].Value = p.body
		case p.headers != nil && m.Name == "headers":
			members[i].Value = p.revealHeaders(m.Value)
		}
	}
	return rawjson.Object(members)
}

func (p parts) revealHeaders(headers rawjson.Value) rawjson.Value {
	if headers.Kind() != '{' || p.headers == nil {
		return headers
	}
	known := map[string]rawjson.Value{}
	for _, m := range rawjson.Members(p.headers) {
		known[strings.ToLower(m.Name)] = m.Value
	}
	members := rawjson.Members(headers)
	for i, m := range members {
		if value, ok := known[strings.ToLower(m.Name)]; ok && isRedacted(m.Value) {
			members[i].Value = value
		}
	}
	return rawjson.Object(members)
}

func isBody(name string) bool { return name == "body" || name == base64Field }

// hide returns what is shown of args, and what is hidden. Parts that equal those of
// before keep their tokens, so that records with the same content have the same tokens.
func hide(args rawjson.Value, s Sealer, account uuid.UUID, before *Hidden, opened parts) (rawjson.Value, Hidden, error) {
	spec := ReadSpec(args)
	if !spec.Redact.ofRequest() {
		return args, Hidden{}, nil
	}
	var h Hidden
	seal := func(part string, value, old rawjson.Value, token string) (string, error) {
		if token != "" && bytes.Equal(value, old) {
			return token, nil
		}
		return orPlain(s).Seal(account, part, value)
	}
	members := rawjson.Members(args)
	var err error
	for i, m := range members {
		switch {
		case spec.Redact.Body && isBody(m.Name):
			members[i].Value = redacted
			if h.Body, err = seal(hiddenBody, m.Value, opened.body, before.Body); err != nil {
				return nil, Hidden{}, err
			}
		case m.Name == "headers" && m.Value.Kind() == '{':
			shown, hidden := spec.Redact.splitHeaders(m.Value)
			if len(hidden) == 0 {
				continue
			}
			members[i].Value, h.Secrets = rawjson.Object(shown), secretsIn(rawjson.Object(hidden))
			if h.Headers, err = seal(hiddenHeaders, rawjson.Object(hidden), opened.headers, before.Headers); err != nil {
				return nil, Hidden{}, err
			}
		}
	}
	return rawjson.Object(members), h, nil
}

// splitHeaders returns headers as they are shown, and those that are hidden.
func (r *Redact) splitHeaders(headers rawjson.Value) (shown, hidden []rawjson.Member) {
	shown = rawjson.Members(headers)
	for i, m := range shown {
		if r.hidesHeader(m.Name) {
			hidden = append(hidden, m)
			shown[i].Value = redacted
		}
	}
	return shown, hidden
}

// shownHeaders returns headers as they are shown.
func (r *Redact) shownHeaders(headers rawjson.Value) rawjson.Value {
	if headers.Kind() != '{' || !r.Headers && len(r.Header) == 0 {
		return headers
	}
	shown, _ := r.splitHeaders(headers)
	return rawjson.Object(shown)
}

// secretsIn returns the names of the secrets that headers refer to.
func secretsIn(headers rawjson.Value) []string {
	var names []string
	eachHeaderText(headers, func(text string, _ ...string) bool {
		parts, _ := placeholder.Parse(text)
		for _, p := range parts {
			if p.Secret != "" && !slices.Contains(names, p.Secret) && len(names) < MaxSecretUses {
				names = append(names, p.Secret)
			}
		}
		return len(names) < MaxSecretUses
	})
	return names
}

// ReadSentSpec is ReadSpec with what is hidden, for an attempt. Its error can be shown.
func ReadSentSpec(args rawjson.Value, h *Hidden, s Sealer, owner Owner) (Spec, error) {
	spec := ReadSpec(args)
	if h.IsZero() {
		return spec, nil
	}
	opened, err := h.open(s, owner.ID)
	if err != nil {
		return spec, err
	}
	return ReadSpec(opened.reveal(args)), nil
}
