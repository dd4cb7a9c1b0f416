// Package gcloud calls the service with Google's published clients for Go, unmodified. It
// is a module of its own, so that the service does not depend on them.
package gcloud

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	cloudtasks "cloud.google.com/go/cloudtasks/apiv2"
	scheduler "cloud.google.com/go/scheduler/apiv1"
	"google.golang.org/api/googleapi"
	"google.golang.org/api/option"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
)

var (
	address = os.Getenv("PUNCTUAL_TEST_GOOGLE")
	key     = os.Getenv("PUNCTUAL_TEST_KEY")
	other   = os.Getenv("PUNCTUAL_TEST_OTHER_KEY")
	engine  = os.Getenv("PUNCTUAL_TEST_APP_ENGINE") // where the service sends App Engine requests
)

// patience bounds what only a broken service exceeds.
const patience = 3 * time.Minute

const location = "projects/shop/locations/europe-west1"

// bearer adds a key to calls by gRPC.
type bearer string

func (b bearer) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return map[string]string{"authorization": "Bearer " + string(b)}, nil
}

func (bearer) RequireTransportSecurity() bool { return false }

// RoundTrip adds the key to calls by REST.
func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}

func connect(t *testing.T, key string) *grpc.ClientConn {
	t.Helper()
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithPerRPCCredentials(bearer(key)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// eachTasks runs a test with the client by gRPC and the one by REST.
func eachTasks(t *testing.T, test func(t *testing.T, c *cloudtasks.Client)) {
	t.Parallel()
	t.Run("grpc", func(t *testing.T) { t.Parallel(); test(t, tasksClient(t, key)) })
	t.Run("rest", func(t *testing.T) {
		t.Parallel()
		c, err := cloudtasks.NewRESTClient(t.Context(), option.WithEndpoint("http://"+address),
			option.WithHTTPClient(&http.Client{Transport: bearer(key)}))
		if err != nil {
			t.Fatal(err)
		}
		test(t, c)
	})
}

func tasksClient(t *testing.T, key string) *cloudtasks.Client {
	t.Helper()
	c, err := cloudtasks.NewClient(t.Context(), option.WithGRPCConn(connect(t, key)))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func eachScheduler(t *testing.T, test func(t *testing.T, c *scheduler.CloudSchedulerClient)) {
	t.Parallel()
	t.Run("grpc", func(t *testing.T) { t.Parallel(); test(t, schedulerClient(t, key)) })
	t.Run("rest", func(t *testing.T) {
		t.Parallel()
		c, err := scheduler.NewCloudSchedulerRESTClient(t.Context(), option.WithEndpoint("http://"+address),
			option.WithHTTPClient(&http.Client{Transport: bearer(key)}))
		if err != nil {
			t.Fatal(err)
		}
		test(t, c)
	})
}

func schedulerClient(t *testing.T, key string) *scheduler.CloudSchedulerClient {
	t.Helper()
	c, err := scheduler.NewCloudSchedulerClient(t.Context(), option.WithGRPCConn(connect(t, key)))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// ok ends a test after an error.
func ok(t *testing.T, what string, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

// names are the names of codes in errors of REST.
var names = map[codes.Code]string{
	codes.AlreadyExists: "ALREADY_EXISTS", codes.FailedPrecondition: "FAILED_PRECONDITION", codes.InvalidArgument: "INVALID_ARGUMENT",
	codes.ResourceExhausted: "RESOURCE_EXHAUSTED", codes.NotFound: "NOT_FOUND", codes.Unimplemented: "UNIMPLEMENTED",
	codes.Unauthenticated: "UNAUTHENTICATED",
}

// want compares the code of an error, by gRPC or REST.
func want(t *testing.T, what string, err error, code codes.Code) {
	t.Helper()
	var rest *googleapi.Error
	if errors.As(err, &rest) && strings.Contains(rest.Body, `"status":"`+names[code]+`"`) {
		return
	}
	if got := status.Code(err); got != code {
		t.Errorf("%s: %v, want %v", what, err, code)
	}
}

// received is a request that a target has received.
type received struct {
	*http.Request
	body []byte
	at   time.Time
}

// target receives requests and answers them with the status that respond returns.
type target struct {
	*httptest.Server
	requests chan received
}

func newTarget(t *testing.T, respond func(n int) int) *target {
	t.Helper()
	s := &target{requests: make(chan received, 1000)}
	n := 0
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		n++
		w.WriteHeader(respond(n))
		s.requests <- received{r, body, time.Now()}
	}))
	t.Cleanup(s.Close)
	return s
}

func always(status int) func(int) int { return func(int) int { return status } }

// next returns the next request.
func (s *target) next(t *testing.T) received {
	t.Helper()
	select {
	case r := <-s.requests:
		return r
	case <-time.After(patience):
		t.Fatal("no request has come")
		return received{}
	}
}

// eventually waits until a condition holds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !holds(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s did not happen", what)
		}
	}
}
