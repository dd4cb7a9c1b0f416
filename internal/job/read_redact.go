package job

import (
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/http/httpguts"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/rawjson"
)

// MaxRedact is how many elements redact has at most.
const MaxRedact = 50

// Redact says what of a job is sent but never shown.
type Redact struct {
	Body     bool     // of the request
	Response bool     // body and headers, results of completions, and the text of $fail
	Headers  bool     // all of the request
	Header   []string // of the request, in lower case
}

// ofRequest reports whether a part of the request is hidden.
func (r *Redact) ofRequest() bool { return r.Body || r.Headers || len(r.Header) > 0 }

func (r *Redact) hidesHeader(name string) bool {
	return r.Headers || len(r.Header) > 0 && slices.Contains(r.Header, strings.ToLower(name))
}

const (
	redactField  = "redact"
	headerPrefix = "header:"
)

func readRedact(r *reader, f *Field, v rawjson.Value) {
	elements := rawjson.Elements(v)
	if v.Kind() != '[' || len(elements) > MaxRedact {
		r.refuse(Pointer(f.Name), "must be a list of at most %d elements: body, response, headers or header:NAME", MaxRedact)
		return
	}
	for i, e := range elements {
		text := rawjson.Text(e)
		name, header := strings.CutPrefix(text, headerPrefix)
		if header && httpguts.ValidHeaderFieldName(name) && len(name) <= 255 {
			continue
		}
		if !slices.Contains([]string{"body", "response", "headers"}, text) {
			r.refuse(Pointer(f.Name, strconv.Itoa(i)), "must be body, response, headers or header:NAME")
		}
	}
}

func redactOf(v rawjson.Value) (r Redact) {
	for _, e := range rawjson.Elements(v) {
		switch text := rawjson.Text(e); text {
		case "body":
			r.Body = true
		case "response":
			r.Response = true
		case "headers":
			r.Headers = true
		default:
			r.Header = append(r.Header, strings.ToLower(strings.TrimPrefix(text, headerPrefix)))
		}
	}
	return r
}

// Size returns about how many bytes a record with the draft's args takes.
func (d *Draft) Size() int { return len(d.Args) + d.Hidden.Size() }

const notRedacted = "is what a hidden value is shown as, and there is no hidden value to leave; give the value itself"

// checkBody refuses the text that a hidden body is shown as.
func checkBody(r *reader, f *Field, v rawjson.Value) {
	if isRedacted(v) {
		r.refuse(Pointer(f.Name), "%s", notRedacted)
	}
}

// checkHeaders checks the placeholders in headers, and refuses the text that a hidden
// value is shown as.
func checkHeaders(r *reader, f *Field, headers rawjson.Value) {
	if headers.Kind() != '{' {
		return
	}
	eachHeaderText(headers, func(text string, path ...string) bool {
		if text == RedactedText {
			r.refuse(Pointer(path...), "%s", notRedacted)
		}
		return true
	})
	checkSecrets(r, f, headers)
}

// fill puts what is hidden in a record with these args in place of the text that it is
// shown as. A hidden body stays in its field: its text means something else in the other.
func (p parts) fill(members []rawjson.Member, args rawjson.Value) []rawjson.Member {
	for i, m := range members {
		switch {
		case p.body != nil && isBody(m.Name) && isRedacted(m.Value) && isRedacted(rawjson.Get(args, m.Name)):
			members[i].Value = p.body
		case p.headers != nil && m.Name == "headers":
			members[i].Value = p.revealHeaders(m.Value)
		}
	}
	return members
}

// showsRedacted reports whether a request has the text that a hidden value is shown as.
func showsRedacted(members []rawjson.Member) bool {
	for _, m := range members {
		if isBody(m.Name) && isRedacted(m.Value) {
			return true
		}
		if m.Name == "headers" && m.Value.Kind() == '{' && slices.ContainsFunc(rawjson.Members(m.Value),
			func(h rawjson.Member) bool { return isRedacted(h.Value) }) {
			return true
		}
	}
	return false
}

// setArgs sets the draft's args of a request with these members, and what is hidden of
// them.
func (r *reader) setArgs(members []rawjson.Member) error {
	args := r.args(members)
	if _, given := r.fields[redactField]; !given {
		r.draft.Args, r.draft.Hidden = args, Hidden{}
		return nil
	}
	var err error
	r.draft.Args, r.draft.Hidden, err = hide(args, r.opts.Sealer, r.opts.Account, &r.before, r.opened)
	return err
}

// hiddenIn opens what is hidden of a record, whose tokens stay where the draft has the
// same. Its error is a fault.
func (r *reader) hiddenIn(h *Hidden) error {
	opened, err := h.open(r.opts.Sealer, r.opts.Account)
	if err != nil {
		return fault.New(fault.Conflict, "what the record's redact hides can't be read, so the record can't be changed: "+err.Error())
	}
	r.before, r.opened = *h, opened
	return nil
}

// checkUncovered refuses a change that would show what was hidden: one of redact that
// leaves the value as it is.
func (p *patch) checkUncovered(r *reader) {
	if _, changed := p.given[redactField]; !changed || p.hidden.IsZero() {
		return
	}
	now := redactOf(r.fields[redactField])
	for _, name := range []string{"body", base64Field} {
		if v, there := r.fields[name]; there && !now.Body && r.opened.body != nil && rawjson.Equal(v, r.opened.body) {
			r.refuse(Pointer(redactField), "no longer has body, which would show what is hidden; give a new %s too, or null", name)
		}
	}
	headers := r.fields["headers"]
	if r.opened.headers == nil || headers.Kind() != '{' {
		return
	}
	for _, old := range rawjson.Members(r.opened.headers) {
		for _, m := range rawjson.Members(headers) {
			if !now.hidesHeader(m.Name) && strings.EqualFold(m.Name, old.Name) && rawjson.Equal(m.Value, old.Value) {
				r.refuse(Pointer(redactField), "no longer has the header %s, which would show what is hidden; give headers with a new value too", m.Name)
			}
		}
	}
}
