package gcloud

import (
	"fmt"
	"net/http"
	"os"
	"sync"
	"testing"
	"time"
)

// engineRequests are the requests to App Engine targets, by path.
var engineRequests sync.Map

func TestMain(m *testing.M) {
	if address == "" {
		fmt.Println("run the tests of test/clients/google, which start the service")
		os.Exit(2)
	}
	server := &http.Server{Addr: engine, ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		engineRequests.Store(r.URL.Path, r)
	})}
	go func() {
		if err := server.ListenAndServe(); err != http.ErrServerClosed {
			fmt.Println(err)
		}
	}()
	os.Exit(m.Run())
}

// engineRequest returns the request that came to a path of the App Engine target.
func engineRequest(t *testing.T, path string) *http.Request {
	t.Helper()
	var found any
	eventually(t, "the request to "+path, func() bool {
		r, ok := engineRequests.Load(path)
		found = r
		return ok
	})
	return found.(*http.Request)
}
