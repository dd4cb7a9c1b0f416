package execute

import (
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"
)

// BenchmarkDo measures attempts against a target in the same process, over
// kept connections, as many at a time as 32 times GOMAXPROCS.
func BenchmarkDo(b *testing.B) {
	for _, h2 := range []bool{false, true} {
		name := "HTTP1"
		if h2 {
			name = "HTTP2"
		}
		b.Run(name, func(b *testing.B) {
			answer := []byte(`{"ok": true}`)
			base := serve(b, h2, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				io.Copy(io.Discard, r.Body)
				w.Write(answer)
			}))
			c := newClient(b)
			r := signedPost(base + "/hook?a=b")
			r.Body = []byte(strings.Repeat("x", 300))
			b.ReportAllocs()
			b.SetParallelism(32)
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					if out := c.Do(b.Context(), r); out.Failure != nil || out.Response.Status != 200 {
						b.Errorf("%+v", out.Failure)
						return
					}
				}
			})
		})
	}
}

// BenchmarkHeader measures what Do adds to net/http before a request is sent.
func BenchmarkHeader(b *testing.B) {
	c := newClient(b)
	r := signedPost("https://example.com/hook?a=b")
	b.ReportAllocs()
	for b.Loop() {
		a := &attempt{client: c, req: &r, method: r.Method, body: r.Body}
		a.url, _ = parseURL(r.URL)
		a.header(time.Unix(1700000000, 0))
	}
}

func BenchmarkSign(b *testing.B) {
	key, err := NewKey()
	if err != nil {
		b.Fatal(err)
	}
	secrets := []Secret{make([]byte, 32)}
	for name, signing := range map[string]Signing{"v1": {Secrets: secrets}, "v1a": {Secrets: secrets, Keys: []Key{key}}} {
		for _, size := range []int{300, 100_000} {
			b.Run(name+"/"+strconv.Itoa(size), func(b *testing.B) {
				body := make([]byte, size)
				b.ReportAllocs()
				b.SetBytes(int64(size))
				for b.Loop() {
					signing.Sign("job_41d7f28b-dfbe-44b8-b716-b91898bb0ce0", 1700000000, body)
				}
			})
		}
	}
}
