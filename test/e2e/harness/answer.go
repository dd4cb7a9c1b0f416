package harness

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Answer is a response of the API, byte for byte.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
	JSON   JSON // the body; of use only when it is JSON

	request string
	t       testing.TB
}

// String shows the request and the response, for messages.
func (a *Answer) String() string {
	return fmt.Sprintf("%s\n-> %d %s\n  %s", a.request, a.Status, a.Header.Get("Content-Type"), shorten(a.Body))
}

// Want ends the test when the status is another.
func (a *Answer) Want(status int) *Answer {
	a.t.Helper()
	if a.Status != status {
		a.t.Fatalf("want status %d: %s", status, a)
	}
	return a
}

// Data returns the record (or the list of records) of a response.
func (a *Answer) Data() JSON { return a.JSON.Get("data") }

// Problem is one entry of `errors` in a problem document.
type Problem struct{ Detail, Pointer, Parameter string }

// Problems returns the entries of `errors`.
func (a *Answer) Problems() []Problem {
	var problems []Problem
	for _, entry := range a.JSON.Get("errors").Items() {
		problems = append(problems, Problem{
			Detail: entry.Get("detail").Str(), Pointer: entry.Get("pointer").Str(),
			Parameter: entry.Get("parameter").Str(),
		})
	}
	return problems
}

// WantProblem ends the test unless the response is a problem document (RFC 9457)
// of this status.
func (a *Answer) WantProblem(status int) *Answer {
	a.t.Helper()
	a.Want(status)
	if got := a.Header.Get("Content-Type"); !strings.HasPrefix(got, "application/problem+json") {
		a.t.Fatalf("want a problem document: %s", a)
	}
	for name, want := range map[string]string{
		"type": `"about:blank"`, "status": fmt.Sprint(status), "title": fmt.Sprintf("%q", Title(status)),
	} {
		if got := a.JSON.Get(name).Raw(); got != want {
			a.t.Errorf("problem has %s %s, want %s: %s", name, got, want, a)
		}
	}
	if a.JSON.Get("detail").Str() == "" {
		a.t.Errorf("a problem without detail: %s", a)
	}
	return a
}

// Title is the name RFC 9110 gives a status; Go still has older ones for two.
func Title(status int) string {
	switch status {
	case http.StatusUnprocessableEntity:
		return "Unprocessable Content"
	case http.StatusRequestEntityTooLarge:
		return "Content Too Large"
	}
	return http.StatusText(status)
}

// WantPointers ends the test unless the response is a refusal (422) whose
// problems point at exactly these members of the body, each entry once, in any
// order.
func (a *Answer) WantPointers(pointers ...string) *Answer {
	a.t.Helper()
	return a.wantRefusal(pointers, func(p Problem) string { return p.Pointer })
}

// WantParameters ends the test unless the response is a refusal (422) whose
// problems name exactly these query parameters.
func (a *Answer) WantParameters(parameters ...string) *Answer {
	a.t.Helper()
	return a.wantRefusal(parameters, func(p Problem) string { return p.Parameter })
}

func (a *Answer) wantRefusal(want []string, name func(Problem) string) *Answer {
	a.t.Helper()
	a.WantProblem(http.StatusUnprocessableEntity)
	var got []string
	for _, problem := range a.Problems() {
		got = append(got, name(problem))
		if problem.Detail == "" {
			a.t.Errorf("an entry without detail: %s", a)
		}
		if problem.Pointer != "" && problem.Parameter != "" {
			a.t.Errorf("an entry with pointer and parameter: %s", a)
		}
	}
	slices.Sort(got)
	want = slices.Sorted(slices.Values(want))
	if !slices.Equal(got, want) {
		a.t.Errorf("problems name %q, want %q: %s", got, want, a)
	}
	return a
}

var linkPattern = regexp.MustCompile(`<([^>]*)>\s*;[^,]*rel="?next"?`)

// Next returns the path and query of the page that follows, "" on the last page.
func (a *Answer) Next() string {
	for _, value := range a.Header.Values("Link") {
		if found := linkPattern.FindStringSubmatch(value); found != nil {
			link := found[1]
			if at := strings.Index(link, "/api/"); at > 0 {
				link = link[at:] // absolute links lead to the same service
			}
			return link
		}
	}
	return ""
}
