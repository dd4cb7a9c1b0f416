package harness

import (
	"io"
	"net/http"
	"time"
)

// Status responds with a status and an empty body.
func Status(code int) http.Handler { return Reply(code, "", "") }

// JSONReply responds with 200 and a JSON body.
func JSONReply(body string) http.Handler {
	return Reply(http.StatusOK, "application/json", body)
}

// Reply responds with a status, a media type (left out when empty) and a body;
// headers come as name, value, name, value.
func Reply(code int, mediaType, body string, headers ...string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if mediaType != "" {
			w.Header().Set("Content-Type", mediaType)
		}
		for i := 0; i+1 < len(headers); i += 2 {
			w.Header().Add(headers[i], headers[i+1])
		}
		w.WriteHeader(code)
		_, _ = io.WriteString(w, body) // a caller gone is recorded as an aborted hit
	})
}

// Redirect responds with a redirect to a location.
func Redirect(code int, location string) http.Handler {
	return Reply(code, "", "", "Location", location)
}

// Delay waits before responding with next, or until the caller gives up.
func Delay(d time.Duration, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		timer := time.NewTimer(d)
		defer timer.Stop()
		select {
		case <-timer.C:
			next.ServeHTTP(w, req)
		case <-req.Context().Done():
		}
	})
}

// Hang never responds; it ends when the caller gives up.
func Hang() http.Handler {
	return http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) { <-req.Context().Done() })
}

// HangInBody sends a status and the beginning of a body, and never the rest.
func HangInBody(code int, beginning string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		w.Header().Set("Content-Length", "1048576")
		w.WriteHeader(code)
		_, _ = io.WriteString(w, beginning)
		_ = http.NewResponseController(w).Flush()
		<-req.Context().Done()
		panic(http.ErrAbortHandler)
	})
}

// Drop breaks the connection without a response.
func Drop() http.Handler {
	return http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
}

// Raw responds with bytes as they are, which need not be HTTP, and ends the
// connection. It needs a target of [NewHTTP1Target].
func Raw(text string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		conn, buffered, err := http.NewResponseController(w).Hijack()
		if err != nil {
			panic(err)
		}
		defer conn.Close()
		_, _ = buffered.WriteString(text) // a caller gone sees nothing anyway
		_ = buffered.Flush()
	})
}
