package harness

import (
	"net/http"
	"testing"

	"github.com/punctual-dev/punctual/api/apitest"
)

// conforms says how an answer differs from what the OpenAPI document describes.
func conforms(t testing.TB, method, path string, header http.Header, body []byte, a *Answer) error {
	return apitest.New(t).Check(method, path, header, body, a.Status, a.Header, a.Body)
}
