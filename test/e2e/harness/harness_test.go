package harness

import (
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"os"
	"slices"
	"testing"
	"time"
)

func TestMain(m *testing.M) { os.Exit(Main(m)) }

func TestJSON_KeepsOrderAndLiterals(t *testing.T) {
	j := JSON(`{"b": 1.10, "a": [12345678901234567890, {"x.y": null}], "s": "\u0000é"}`)
	if got := j.Keys(); !slices.Equal(got, []string{"b", "a", "s"}) {
		t.Errorf("keys %q", got)
	}
	for path, want := range map[string]string{
		"b": "1.10", "a.0": "12345678901234567890", "a.2": "", "b.c": "", "missing": "",
	} {
		if got := j.Get(path).Raw(); got != want {
			t.Errorf("%s: got %s, want %s", path, got, want)
		}
	}
	if !j.Get("a.1").Member("x.y").IsNull() {
		t.Error("a member whose name has a dot was not found")
	}
	if got := j.Get("s").Str(); got != "\x00é" {
		t.Errorf("string %q", got)
	}
	if JSON(`{"a":1,"a":2}`).Valid() || JSON(`{} {}`).Valid() || !j.Valid() {
		t.Error("Valid is wrong about duplicate names, trailing data or a good text")
	}
}

func TestRoute_RecordsAndResponds(t *testing.T) {
	client := trusting(t)
	target := NewTarget(t)
	route := target.Route(t).RespondOnce(Reply(201, "text/plain", "one")).Respond(Drop())
	resp, err := client.Get(route.URL + "/below?q=1")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != 201 {
		t.Errorf("status %d", resp.StatusCode)
	}
	if _, err := client.Get(route.URL); err == nil {
		t.Error("a dropped connection gave an answer")
	}
	hits := route.AwaitEnds(t, 2, time.Second)
	if hits[0].Path != route.Path+"/below" || hits[0].Query().Get("q") != "1" || hits[0].Aborted {
		t.Errorf("first hit %+v", hits[0])
	}
	if !route.Quiet(10 * time.Millisecond) {
		t.Error("a hit nobody sent")
	}
}

func TestHit_RecordsWhenItsConnectionEnded(t *testing.T) {
	client := trusting(t)
	route := NewTarget(t).Route(t)
	resp, err := client.Get(route.URL)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if broken := route.Hits()[0].Broken(); !broken.IsZero() {
		t.Errorf("an open connection ended at %s", broken)
	}
	client.CloseIdleConnections()
	Eventually(t, 5*time.Second, "the connection's end to be noticed", func() bool { return !route.Hits()[0].Broken().IsZero() })
	if hit := route.Hits()[0]; hit.Broken().Before(hit.End) {
		t.Errorf("the connection ended at %s, the answer at %s", hit.Broken(), hit.End)
	}
}

func TestRoute_HoldBlocksUntilReleased(t *testing.T) {
	client := trusting(t)
	route := NewTarget(t).Route(t)
	release := route.Hold(Status(204))
	done := make(chan int, 1)
	go func() {
		resp, err := client.Get(route.URL)
		if err != nil {
			done <- 0
			return
		}
		resp.Body.Close()
		done <- resp.StatusCode
	}()
	if hit := route.Await(t, 1, time.Second)[0]; !hit.End.IsZero() {
		t.Error("a held hit was answered")
	}
	release()
	if code := <-done; code != 204 {
		t.Errorf("status %d", code)
	}
}

// trusting returns a client that trusts the targets' certificate.
func trusting(t *testing.T) *http.Client {
	t.Helper()
	ca, err := authority()
	if err != nil {
		t.Fatal(err)
	}
	pem, err := os.ReadFile(ca.file)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(pem)
	tr := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr, Timeout: 5 * time.Second}
}
