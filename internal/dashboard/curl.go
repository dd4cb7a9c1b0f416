package dashboard

import (
	"encoding/base64"
	"strings"

	"github.com/punctual-dev/punctual/internal/dashboard/ui"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
)

// quoteShell quotes a word for a shell.
func quoteShell(text string) string {
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// requestCurl returns the curl command that sends a job's request.
func requestCurl(o *job.Outgoing) string {
	words := []string{"curl"}
	if o.Method != "GET" {
		words[0] += " -X " + o.Method
	}
	words[0] += " " + quoteShell(o.URL)
	for _, h := range o.Header {
		words = append(words, "-H "+quoteShell(h.Name+": "+h.Value))
	}
	if o.ContentType != "" {
		words = append(words, "-H "+quoteShell("content-type: "+o.ContentType))
	}
	switch {
	case !job.IsText(o.Body):
		words[0] = "echo " + base64.StdEncoding.EncodeToString(o.Body) + " | base64 -d | " + words[0]
		words = append(words, "--data-binary @-")
	case o.Body != nil:
		words = append(words, "--data-raw "+quoteShell(string(o.Body)))
	}
	return strings.Join(words, " \\\n  ")
}

// maxLaidOut is the maximum size of a body that is indented.
const maxLaidOut = 4 << 10

// createCurl returns the curl command that creates a job through the API; key is that of
// ui.View.Key.
func createCurl(origin, key string, body rawjson.Value) string {
	text := string(body)
	if len(text) <= maxLaidOut {
		text = ui.Pretty(body)
	}
	return "curl " + origin + "/api/jobs \\\n  -H \"Authorization: Bearer " + key +
		"\" \\\n  -H 'Content-Type: application/json' \\\n  -d " + quoteShell(text)
}
