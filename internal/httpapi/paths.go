package httpapi

import (
	"net/http"
	"net/url"
	"path"
	"strings"
)

// maxPathTried bounds the paths for which a similar one is looked for, in bytes.
const maxPathTried = 300

// similar returns the path of the API that a client probably meant by one that
// doesn't exist, such as /v1/jobs or /api/api/job, or "".
func (s *Server) similar(wrong string) string {
	if len(wrong) > maxPathTried {
		return ""
	}
	var parts []string
	for _, part := range strings.Split(strings.ToLower(path.Clean(wrong)), "/") {
		switch part {
		case "", "api", "v0", "v1", "v2", "v3":
		case "job", "schedule", "log", "stat", "key", "event":
			parts = append(parts, part+"s")
		default:
			parts = append(parts, part)
		}
	}
	name := strings.Join(parts, "/")
	candidates := []string{"/api/" + name, "/" + name, "/api/account/" + name}
	switch name {
	case "", "tasks", "messages", "publish", "enqueue":
		candidates = append(candidates, "/api/jobs")
	}
	for _, candidate := range candidates {
		_, pattern := s.mux.Handler(&http.Request{Method: http.MethodGet, URL: &url.URL{Path: candidate}})
		if pattern != "" && pattern != "/" && candidate != wrong {
			return candidate
		}
	}
	return ""
}
