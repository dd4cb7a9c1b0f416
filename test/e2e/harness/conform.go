package harness

import (
	"net/http"
	"testing"
)

// checker holds one exchange against the OpenAPI document.
type checker interface {
	Check(method, path string, reqHeader http.Header, reqBody []byte,
		status int, respHeader http.Header, respBody []byte) error
}

// document makes the checker; nil until the document has one.
var document func(testing.TB) checker

// conforms says how an answer differs from what the OpenAPI document describes.
func conforms(t testing.TB, method, path string, header http.Header, body []byte, a *Answer) error {
	if document == nil {
		return nil
	}
	return document(t).Check(method, path, header, body, a.Status, a.Header, a.Body)
}
