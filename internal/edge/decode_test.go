package edge

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/punctual-dev/punctual/internal/fault"
)

func gzipped(text string) string {
	var b bytes.Buffer
	w, _ := gzip.NewWriterLevel(&b, gzip.BestCompression)
	_, _ = io.WriteString(w, text)
	_ = w.Close()
	return b.String()
}

// decoding is a handler that reads bodies of up to most bytes.
func decoding(most int64) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, _, err := Decoded(w, r, most)
		var text []byte
		if err == nil {
			defer func() { _ = body.Close() }()
			text, err = io.ReadAll(body)
		}
		switch {
		case errors.As(err, new(*http.MaxBytesError)):
			w.WriteHeader(413)
		case err != nil:
			w.WriteHeader(map[fault.Code]int{fault.UnsupportedMedia: 415, fault.Unreadable: 400, fault.TooMany: 429,
				fault.TooSlow: 408}[fault.CodeOf(err)])
		default:
			_, _ = fmt.Fprintf(w, "%d", len(text))
		}
	}
}

func encoded(coding, body string) string {
	return fmt.Sprintf("POST / HTTP/1.1\r\nHost: a\r\nContent-Encoding: %s\r\nContent-Length: %d\r\n\r\n%s", coding, len(body), body)
}

func TestDecoded(t *testing.T) {
	const most = 1 << 20
	full := strings.Repeat("x", most)
	for name, c := range map[string]struct {
		coding, body string
		status       int
		length       string
	}{
		"gzip":                     {"gzip", gzipped("body"), 200, "4"},
		"gzip by its old name":     {"X-GZIP", gzipped("body"), 200, "4"},
		"identity":                 {"identity", "body", 200, "4"},
		"both":                     {"identity, gzip", gzipped("body"), 200, "4"},
		"nothing":                  {"gzip", "", 200, "0"},
		"two members":              {"gzip", gzipped("one") + gzipped("two"), 200, "6"},
		"as much as is allowed":    {"gzip", gzipped(full), 200, "1048576"},
		"a byte more":              {"gzip", gzipped(full + "x"), 413, ""},
		"a bomb":                   {"gzip", gzipped(strings.Repeat("x", 50<<20)), 413, ""},
		"members without content":  {"gzip", strings.Repeat(gzipped(""), 60_000), 413, ""},
		"no gzip":                  {"gzip", "body", 400, ""},
		"cut off":                  {"gzip", gzipped(full)[:500], 400, ""},
		"a wrong checksum":         {"gzip", gzipped("body")[:18] + "aaaaaaaa", 400, ""},
		"something after its end":  {"gzip", gzipped("body") + "more", 400, ""},
		"another coding":           {"br", "body", 415, ""},
		"gzip twice":               {"gzip, gzip", gzipped(gzipped("body")), 415, ""},
		"gzip and another":         {"br, gzip", gzipped("body"), 415, ""},
		"a body that is too large": {"identity", full + "x", 413, ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHall(t, 100, decoding(most))
				client := h.dial(public)
				client.send(encoded(c.coding, c.body))
				if text, status := client.read(); status != c.status || status == 200 && text != c.length {
					t.Errorf("%d %s, want %d %s", status, text, c.status, c.length)
				}
				_ = client.Close()
			})
		})
	}
}

// What a body becomes counts in the budget, as does its decoder while it waits for more.
func TestDecoded_CountsInTheBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		h := newHall(t, 100, func(w http.ResponseWriter, r *http.Request) {
			decoding(8<<20)(w, r)
			if r.Header.Get("X-Stay") != "" {
				<-release
			}
		})
		stay := func() *client {
			c := h.dial(public)
			c.send(strings.Replace(encoded("gzip", gzipped(strings.Repeat("x", 6<<20))), "Host: a", "Host: a\r\nX-Stay: 1", 1))
			synctest.Wait()
			return c
		}
		stay()
		if got := h.Figures().Received; got < 6<<20 || got > 7<<20 {
			t.Errorf("a body of 6 MiB counts as %d bytes", got)
		}
		stay()
		third := h.dial(public)
		third.send(encoded("gzip", gzipped(strings.Repeat("x", 6<<20))))
		if _, status := third.read(); status != 429 {
			t.Errorf("beyond the share of a network: %d, want 429", status)
		}
		close(release)
		time.Sleep(time.Second)

		slow := h.dial(public)
		slow.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Encoding: gzip\r\nContent-Length: 100\r\n\r\n" + gzipped("body")[:12])
		synctest.Wait()
		if got := h.Figures().Received; got < decoderBytes {
			t.Errorf("a decoder that waits counts as %d bytes", got)
		}
		if _, status := slow.read(); status != 408 {
			t.Errorf("a body that never ends: %d, want 408", status)
		}
	})
}
