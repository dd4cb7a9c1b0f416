package bench

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/test/pace"
)

func contextThatEnds(t *testing.T) (context.Context, context.CancelFunc) {
	t.Helper()
	return context.WithCancel(t.Context())
}

// startTestTarget returns a target and a client that trusts it.
func startTestTarget(t *testing.T, addresses ...string) (*target, *http.Client) {
	t.Helper()
	a, err := newAuthority()
	if err != nil {
		t.Fatal(err)
	}
	target, err := startTarget(a, false, addresses...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(target.close)
	roots := x509.NewCertPool()
	roots.AddCert(a.certificate)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, ClientSessionCache: tls.NewLRUClientSessionCache(8)}}
	t.Cleanup(transport.CloseIdleConnections)
	return target, &http.Client{Transport: transport}
}

// post posts a body and returns the status of the response; 0 when there is none.
func post(ctx context.Context, client *http.Client, url string, body []byte) int {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return 0
	}
	answer, err := client.Do(request)
	if err != nil {
		return 0
	}
	defer func() { _ = answer.Body.Close() }()
	_, _ = io.Copy(io.Discard, answer.Body)
	return answer.StatusCode
}

func TestTargetNotesArrivals(t *testing.T) {
	t.Parallel()
	target, client := startTestTarget(t, "127.0.0.1")
	first, second := newRound(1, 10), newRound(11, 10)
	target.expect(first)
	target.expect(second)
	began := time.Now()
	var wait sync.WaitGroup
	for _, number := range []int64{1, 2, 2, 11, 20} {
		wait.Go(func() {
			if status := post(t.Context(), client, target.urls[0]+pathJob, appendBody(nil, number, bodyBytes)); status != 200 {
				t.Errorf("job %d is answered with %d", number, status)
			}
		})
	}
	wait.Wait()
	if first.distinct.Load() != 2 || second.distinct.Load() != 2 {
		t.Errorf("the rounds saw %d and %d jobs", first.distinct.Load(), second.distinct.Load())
	}
	if a := &first.seen[1]; a.times.Load() != 2 || a.again.Load() == 0 || !a.answered.Load() {
		t.Error("a job that came twice was not seen twice")
	}
	if at := first.seen[0].time(); at.Before(began) || at.After(time.Now()) {
		t.Errorf("a job came at %s", at)
	}
	for path, body := range map[string][]byte{pathJob: appendBody(nil, 21, bodyBytes), pathHang: []byte("{}"),
		"/else": appendBody(nil, 1, bodyBytes), "/webhook/1": []byte(`{}`)} {
		if status := post(t.Context(), client, target.urls[0]+path, body); status != 404 {
			t.Errorf("a stray at %s is answered with %d", path, status)
		}
	}
	target.forget()
	post(t.Context(), client, target.urls[0]+pathJob, appendBody(nil, 1, bodyBytes))
	if got := target.strays.Load(); got != 5 {
		t.Errorf("%d strays were seen, not 5", got)
	}
}

func TestTargetHoldsAnswersBack(t *testing.T) {
	t.Parallel()
	target, client := startTestTarget(t, "127.0.0.1")
	r := newRound(1, 2)
	r.hold = time.Hour
	target.expect(r)
	ctx, cut := contextThatEnds(t)
	var wait sync.WaitGroup
	for _, path := range []string{pathJob, pathHang} {
		number := r.first
		if path == pathHang {
			number++
		}
		wait.Go(func() { post(ctx, client, target.urls[0]+path, appendBody(nil, number, bodyBytes)) })
	}
	if ok, err := until(t.Context(), time.Now().Add(pace.Guard(time.Minute)), func() bool { return r.underWay() == 2 }); !ok || err != nil {
		t.Fatal("the requests did not get there")
	}
	cut()
	wait.Wait()
	if ok, _ := until(t.Context(), time.Now().Add(pace.Guard(time.Minute)), func() bool { return r.cutOff(true) == 1 }); !ok {
		t.Error("a held request that was cut off is not known as such")
	}
	r.arrive(1, time.Now())
	if r.cutOff(true) != 0 || r.cutOff(false) != 1 {
		t.Error("a request that was made again counts as lost")
	}
}

func TestTargetLetsGo(t *testing.T) {
	t.Parallel()
	target, client := startTestTarget(t, "127.0.0.1")
	r := newRound(1, 1)
	target.expect(r)
	status := make(chan int)
	go func() { status <- post(t.Context(), client, target.urls[0]+pathHang, appendBody(nil, 1, bodyBytes)) }()
	if ok, _ := until(t.Context(), time.Now().Add(pace.Guard(time.Minute)), func() bool { return r.underWay() == 1 }); !ok {
		t.Fatal("the request did not get there")
	}
	target.free()
	if got := <-status; got != 200 {
		t.Errorf("a request that hung is answered with %d", got)
	}
}

func TestTargetsHaveCertificatesOfTheirOwn(t *testing.T) {
	t.Parallel()
	if !manyAddresses() {
		t.Skip("this system has one loopback address only")
	}
	target, client := startTestTarget(t, loopbacks(3)...)
	r := newRound(1, 10)
	target.expect(r)
	call := func() {
		for i, url := range target.urls {
			if status := post(t.Context(), client, url+pathJob, appendBody(nil, int64(i+1), bodyBytes)); status != 200 {
				t.Errorf("%s answers %d", url, status)
			}
		}
	}
	call()
	call()
	if made, resumed := target.handshakes.Load(), target.resumed.Load(); made != 3 || resumed != 0 {
		t.Errorf("%d handshakes were made, %d of them shorter", made, resumed)
	}
	// A connection is idle only once its response has gone out.
	idle := func() bool { target.mu.Lock(); defer target.mu.Unlock(); return len(target.idle) == 3 }
	if ok, _ := until(t.Context(), time.Now().Add(pace.Guard(time.Minute)), idle); !ok {
		t.Fatal("the connections are not idle")
	}
	target.hangUp()
	client.CloseIdleConnections()
	call()
	if made, resumed := target.handshakes.Load(), target.resumed.Load(); made != 6 || resumed != 3 {
		t.Errorf("after hanging up, %d handshakes were made, %d of them shorter", made, resumed)
	}
}

func TestReceiverNotesMessages(t *testing.T) {
	t.Parallel()
	target, client := startTestTarget(t, "127.0.0.1")
	target.events = newReceipts(7, 2)
	send := func(path, event string, want int) {
		t.Helper()
		body := []byte(fmt.Sprintf(`{"type":"%s","timestamp":""}`, event))
		if status := post(t.Context(), client, target.urls[0]+path, body); status != want {
			t.Errorf("%s at %s is answered with %d, not %d", event, path, status, want)
		}
	}
	for _, event := range []string{"job.started", "job.request", "job.response", "job.finished"} {
		send("/webhook/7", event, 200)
	}
	send("/callback/7", "", 200)
	send("/callback/7", "", 200)
	send("/webhook/8", "job.finished", 200)
	send("/webhook/8", "job.started", 200)
	send("/webhook/9", "job.started", 404)
	send("/webhook/x", "job.started", 404)
	send("/webhook/7", "job.unknown", 404)
	missing, disordered := target.events.check()
	if missing != 3 || disordered != 1 || target.events.distinct.Load() != 7 || target.events.repeated.Load() != 1 {
		t.Errorf("%d messages are missing, %d jobs out of order, of %d, with %d repeated", missing, disordered,
			target.events.distinct.Load(), target.events.repeated.Load())
	}
	jobs := newRound(7, 2)
	jobs.arrive(7, time.Unix(0, target.events.seen[0][messageCallback].at.Load()).Add(-5*time.Millisecond))
	if delays := target.events.delays(jobs, messageCallback); len(delays) != 1 || delays[0] != 5 {
		t.Errorf("the callbacks' delays are %v", delays)
	}
}

func TestAuthorityInAFile(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "authority.pem")
	made, err := authorityIn(file)
	if err != nil {
		t.Fatal(err)
	}
	read, err := authorityIn(file)
	if err != nil || !bytes.Equal(read.pem(), made.pem()) {
		t.Errorf("the authority is not the one that was written: %v", err)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file with the key is %v, %v", info, err)
	}
	if err := os.WriteFile(file, made.pem(), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := authorityIn(file); err == nil || !strings.Contains(err.Error(), "does not hold") {
		t.Errorf("without its key it gives %v", err)
	}
}
