package client

import (
	"net/http"
	"strings"
	"testing"
	"time"
)

// FuzzHeaders reads headers that a proxy or another server may have made up.
func FuzzHeaders(f *testing.F) {
	f.Add(`</api/jobs?cursor=a>; rel="next"`, `"account";r=0;t=1`, "3")
	f.Add(`<%zz>;rel=next, <>;rel=next`, `;;r=0;t=-9;t=99999999999`, "Sun, 22 Nov 2026 09:00:00 GMT")
	f.Fuzz(func(t *testing.T, link, rate, retry string) {
		header := http.Header{"Link": {link}, "Ratelimit": {rate}, "Retry-After": {retry}}
		if next, err := nextPage(header, "/api/jobs"); next != nil && err != nil {
			t.Errorf("%q gives a page and %v", link, err)
		}
		if wait := rateReset(header); wait < 0 {
			t.Errorf("%q gives %s", rate, wait)
		}
		if wait := retryAfter(header, time.Unix(1e9, 0)); wait < 0 {
			t.Errorf("%q gives %s", retry, wait)
		}
	})
}

func FuzzEvents(f *testing.F) {
	f.Add("event: log\nid: a\ndata: {}\n\n")
	f.Add("event: job\r\ndata: {\"job_id\":\ndata: 1}\n\n:\n\nevent: skipped\n\n")
	c, err := New(Config{URL: "https://punctual.example", MaxResponseBytes: 1 << 10})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, stream string) {
		c.readEvents(strings.NewReader(stream), func(event Event) bool {
			kinds := 0
			for _, set := range []bool{event.Job != nil, event.Log != nil, event.Skipped} {
				if set {
					kinds++
				}
			}
			if kinds != 1 {
				t.Errorf("%q gives an event of %d kinds", stream, kinds)
			}
			return true
		})
	})
}

func FuzzVerify(f *testing.F) {
	f.Add(exampleID, "1614265330", exampleSignature, exampleBody)
	v, err := NewVerifier(exampleSecret)
	if err != nil {
		f.Fatal(err)
	}
	v.Now = func() time.Time { return time.Unix(1614265330, 0) }
	f.Fuzz(func(t *testing.T, id, at, signature, body string) {
		header := http.Header{"Webhook-Id": {id}, "Webhook-Timestamp": {at}, "Webhook-Signature": {signature}}
		_, err := v.Verify(header, []byte(body))
		genuine := id+"."+at+"."+body == exampleID+".1614265330."+exampleBody && strings.Contains(signature, exampleSignature)
		if err == nil && !genuine {
			t.Errorf("accepted %q %q %q %q", id, at, signature, body)
		}
	})
}
