package gcloud

import (
	"fmt"
	"net/http"
	"os"
	"sync"
	"testing"
	"time"

	cloudtasks "cloud.google.com/go/cloudtasks/apiv2"
	pb "cloud.google.com/go/cloudtasks/apiv2/cloudtaskspb"
	"google.golang.org/api/option"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
)

// engineRequests are the requests to App Engine targets, by path.
var engineRequests sync.Map

func TestMain(m *testing.M) {
	if address == "" {
		fmt.Println("run the tests of test/clients/google, which start the service")
		os.Exit(2)
	}
	server := &http.Server{Addr: engine, ReadHeaderTimeout: time.Minute,
		Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			engineRequests.Store(r.URL.Path, r)
		})}
	go func() {
		if err := server.ListenAndServe(); err != http.ErrServerClosed {
			fmt.Println(err)
		}
	}()
	os.Exit(m.Run())
}

// TestWithoutAKey calls punctual dev as programs call emulators: without credentials.
func TestWithoutAKey(t *testing.T) {
	if os.Getenv("PUNCTUAL_TEST_KEYLESS") == "" {
		want(t, "a call without a key", keyless(t), codes.Unauthenticated)
		return
	}
	ok(t, "a call without a key", keyless(t))
}

func keyless(t *testing.T) error {
	c, err := cloudtasks.NewClient(t.Context(), option.WithEndpoint(address), option.WithoutAuthentication(),
		option.WithGRPCDialOption(grpc.WithTransportCredentials(insecure.NewCredentials())))
	ok(t, "NewClient", err)
	defer func() { _ = c.Close() }()
	_, err = c.CreateQueue(t.Context(), &pb.CreateQueueRequest{Parent: location, Queue: &pb.Queue{Name: location + "/queues/keyless"}})
	return err
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
