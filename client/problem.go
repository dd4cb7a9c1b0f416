package client

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Problem is an error that the service reports (RFC 9457).
type Problem struct {
	// Type is a URI reference; "about:blank" stands for the status alone.
	Type string `json:"type"`
	// Code is stable and for programs: "not_found", "unprocessable_content".
	Code string `json:"code"`
	// Title is the name of the status.
	Title string `json:"title"`
	// Status is the HTTP status, 400 to 599.
	Status int `json:"status"`
	// Detail is a sentence that says what to do.
	Detail string `json:"detail"`
	// Errors lists what is wrong, up to 100 entries.
	Errors []ProblemEntry `json:"errors,omitempty"`
	// More is how many entries Errors leaves out.
	More int `json:"more,omitempty"`
	// RetryAfter is how long the service asks to wait; zero if it does not.
	RetryAfter time.Duration `json:"-"`
	// RequestID names the call in the service's log.
	RequestID string `json:"-"`
	// Header and Body are the response as it was sent, of Body at most 1 MiB.
	Header http.Header `json:"-"`
	Body   []byte      `json:"-"`
}

// ProblemEntry is one thing that is wrong with a call.
type ProblemEntry struct {
	Detail string `json:"detail"`
	// Pointer is a JSON pointer into the body, as in "#/url". Parameter is the name
	// of a query parameter. One of them is set.
	Pointer   string `json:"pointer,omitempty"`
	Parameter string `json:"parameter,omitempty"`
}

// Error returns the status and what is wrong, each thing once.
func (p *Problem) Error() string {
	var text strings.Builder
	fmt.Fprintf(&text, "punctual: %d %s: %s", p.Status, p.Title, p.Detail)
	for _, entry := range p.Errors {
		if entry.Pointer+entry.Parameter != "" && !strings.Contains(p.Detail, entry.Detail) {
			fmt.Fprintf(&text, "; %s%s %s", entry.Pointer, entry.Parameter, entry.Detail)
		}
	}
	return text.String()
}

// Pointer returns the pointer of the first entry that has one, "" if none has.
func (p *Problem) Pointer() string {
	for _, entry := range p.Errors {
		if entry.Pointer != "" {
			return entry.Pointer
		}
	}
	return ""
}

const (
	// maxProblemBytes is how much of a response that is no success is read.
	maxProblemBytes = 1 << 20
	// excerptBytes is how much of one that is no problem is shown.
	excerptBytes = 300
)

// problemOf reads an answer with a status of 300 or above. A proxy between may have
// answered with something else than a problem.
func problemOf(status int, header http.Header, body []byte) *Problem {
	p := &Problem{}
	if json.Unmarshal(body, p) != nil || p.Detail == "" {
		excerpt := bytes.TrimSpace(body[:min(len(body), excerptBytes)])
		p = &Problem{Type: "about:blank", Detail: "the answer is no problem document: " + strings.ToValidUTF8(string(excerpt), "\uFFFD")}
	}
	p.Status, p.Header, p.Body = status, header, body
	setDefault(&p.Title, http.StatusText(status))
	p.RetryAfter = retryAfter(header, time.Now())
	p.RequestID = header.Get("X-Request-Id")
	return p
}

// retryAfter reads Retry-After, seconds or a date. More seconds than a number has are
// as many as it has.
func retryAfter(header http.Header, now time.Time) time.Duration {
	value := header.Get("Retry-After")
	if seconds, err := strconv.ParseInt(value, 10, 32); err == nil || errors.Is(err, strconv.ErrRange) {
		return time.Duration(max(seconds, 0)) * time.Second
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(at.Sub(now), 0)
	}
	return 0
}

// rateReset reads RateLimit: how long to wait if no call is left, else zero.
func rateReset(header http.Header) time.Duration {
	left, reset := int64(-1), int64(0)
	for part := range strings.SplitSeq(header.Get("RateLimit"), ";") {
		name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		number, err := strconv.ParseInt(value, 10, 32)
		switch {
		case err != nil:
		case name == "r":
			left = number
		case name == "t":
			reset = number
		}
	}
	if left != 0 {
		return 0
	}
	return time.Duration(max(reset, 0)) * time.Second
}
