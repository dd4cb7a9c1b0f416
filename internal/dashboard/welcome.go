package dashboard

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/punctual-dev/punctual/internal/auth"
	"github.com/punctual-dev/punctual/internal/broadcast"
	"github.com/punctual-dev/punctual/internal/dashboard/ui"
	"github.com/punctual-dev/punctual/internal/dashboard/view"
	"github.com/punctual-dev/punctual/internal/edge"
	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/identity"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/service"
)

var welcomeRoutes = []route{
	{"/welcome", forSignedIn, map[string]handler{"GET": (*Server).welcome}},
	{"/welcome/key", forAdmins, map[string]handler{"POST": (*Server).welcomeKey}},
	{"/welcome/send", forSignedIn, map[string]handler{"POST": (*Server).welcomeSend}},
	{"/welcome/events", forSignedIn, map[string]handler{"GET": (*Server).welcomeEvents}},
}

// jobsWatched is how many of the newest jobs the page shows.
const jobsWatched = 3

// channelOf returns the channel of a session's page. Nobody can guess it, since it is
// derived from the session's token.
func channelOf(s *identity.Session) string {
	sum := sha256.Sum256(append([]byte("the channel of "), s.Hash...))
	return "page-" + hex.EncodeToString(sum[:8])
}

// reachOf reports whether jobs may call the address of the page.
func (s *Server) reachOf(c *call) view.Reach {
	here, err := url.Parse(edge.Origin(c.r))
	switch {
	case err != nil, here.Scheme != "https" && !s.Service.AllowHTTP:
		return view.OverPlainHTTP
	case s.Service.CheckHost != nil && s.Service.CheckHost(here.Host) != "":
		return view.OnPrivateHost
	}
	return view.Reachable
}

// firstJob returns the request body that creates the first job.
func firstJob(where view.Reach, origin, channel string) rawjson.Value {
	if where != view.Reachable {
		return rawjson.Value(`{"method": "get", "url": "https://example.com/", "schedule_in": [10, "seconds"]}`)
	}
	return rawjson.Value(`{"method": "post", "url": ` + string(rawjson.Quote(origin+"/api/broadcast")) +
		`, "schedule_in": [10, "seconds"], ` +
		`"body": {"content": "Hello from ten seconds ago", "channel": ` + string(rawjson.Quote(channel)) + `}}`)
}

func (s *Server) readWelcome(c *call) (*view.Welcome, error) {
	account, origin := c.account(), edge.Origin(c.r)
	d := &view.Welcome{Reach: s.reachOf(c), Host: c.r.Host, Notice: c.notice()}
	channel := channelOf(c.session)
	for _, m := range s.Broadcasts.Open(channel) {
		d.Messages = append(d.Messages, view.Message{Text: messageText(&m), At: m.At, Due: m.Due})
	}
	page, err := s.Service.Jobs(c.r.Context(), c.owner(), job.Query{ListQuery: job.ListQuery{Limit: jobsWatched}})
	if err != nil {
		return nil, err
	}
	d.Jobs = page.Items
	service.ShowOwnDue(d.Jobs...)
	if c.part() != "" {
		return d, nil
	}
	keys, err := s.Auth.Keys(c.r.Context(), account.Number)
	d.HasKey = slices.ContainsFunc(keys, func(k *identity.Key) bool { return k.RevokedAt.IsZero() })
	d.NewKey = c.newKey()
	d.Ways = ways(origin, d.NewKey, firstJob(d.Reach, origin, channel))
	return d, err
}

// messageText returns the content of a message, with its author and job.
func messageText(m *broadcast.Message) string {
	text := m.Content
	if text == "" {
		text = "A message without content"
	}
	if m.Author != "" {
		text = m.Author + ": " + text
	}
	if m.Job != 0 {
		text += " (from job " + strconv.FormatInt(m.Job, 10) + ")"
	}
	return text
}

func (s *Server) welcome(c *call) error {
	d, err := s.readWelcome(c)
	if err != nil {
		return err
	}
	if c.part() == "live" {
		return c.render(http.StatusOK, view.Arrivals(d))
	}
	return c.render(http.StatusOK, view.WelcomePage(d))
}

func (s *Server) welcomeKey(c *call) error {
	if err := s.createKey(c, c.account(), auth.KeySpec{Name: "first steps", Scope: identity.ScopeJobs}); err != nil {
		return err
	}
	return c.redirect("/welcome?done=key")
}

// welcomeSend creates the first job. A new key that the page shows stays on it.
func (s *Server) welcomeSend(c *call) error {
	c.keepKey(c.r.PostForm.Get("key"))
	body := firstJob(s.reachOf(c), edge.Origin(c.r), channelOf(c.session))
	_, _, err := s.Service.Create(c.r.Context(), c.owner(), body, nil)
	if err == nil {
		return c.redirect("/welcome?done=sent")
	}
	if fault.CodeOf(err) != fault.Invalid {
		return err
	}
	d, readErr := s.readWelcome(c)
	if readErr != nil {
		return readErr
	}
	d.Problem = ui.Sentence(err.Error())
	return c.render(http.StatusUnprocessableEntity, view.WelcomePage(d))
}

// welcomeEvents sends an event when a message arrives on the page's channel, or
// when one of the account's jobs changes.
func (s *Server) welcomeEvents(c *call) error {
	arrived, stop := s.Broadcasts.Watch(channelOf(c.session))
	defer stop()
	stream, err := s.Events.OpenHints(c.r.Context(), c.owner(), edge.ClientAddr(c.r), time.Time{})
	if err != nil {
		return err
	}
	ctx, end := context.WithCancel(c.r.Context())
	var watcher sync.WaitGroup
	watcher.Go(func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-arrived:
				stream.Add("message")
			}
		}
	})
	stream.Serve(c, c.r, c.permit)
	end()
	watcher.Wait()
	return nil
}

// ways returns the ways to create the first job from a request body. They contain
// the key, or the name of a variable if it is "".
func ways(origin, newKey string, request rawjson.Value) []view.Way {
	key, host := newKey, strings.TrimPrefix(strings.TrimPrefix(origin, "https://"), "http://")
	shell, python, script := key, `"`+key+`"`, `"`+key+`"`
	if key == "" {
		key, shell, python, script = "YOUR_KEY", "$PUNCTUAL_API_KEY", `os.environ["PUNCTUAL_API_KEY"]`, "process.env.PUNCTUAL_API_KEY"
	}
	body := string(request)
	return []view.Way{
		{ID: "curl", Name: "curl", Text: "curl " + origin + "/api/jobs \\\n  -H \"Authorization: Bearer " + shell +
			"\" \\\n  -H 'Content-Type: application/json' \\\n  -d " + quoteShell(body)},
		{ID: "cli", Name: "Command line", Text: commandLine(origin, newKey, request)},
		{ID: "http", Name: "Plain HTTP", Text: fmt.Sprintf(
			"POST /api/jobs HTTP/1.1\nHost: %s\nAuthorization: Bearer %s\nContent-Type: application/json\nContent-Length: %d\n\n%s", host,
			key, len(body), body)},
		{ID: "python", Name: "Python", Text: "import os, urllib.request\n\ncall = urllib.request.Request(\n    \"" + origin +
			"/api/jobs\",\n    data=b'''" + body +
			"''',\n    headers={\"Authorization\": \"Bearer \" + " + python +
			", \"Content-Type\": \"application/json\"},\n)\nprint(urllib.request.urlopen(call).read().decode())"},
		{ID: "javascript", Name: "JavaScript", Text: "const response = await fetch(\"" + origin +
			"/api/jobs\", {\n  method: \"POST\",\n  headers: {Authorization: \"Bearer \" + " + script +
			", \"Content-Type\": \"application/json\"},\n  body: JSON.stringify(" + body + "),\n});\nconsole.log(await response.json());"},
	}
}

// commandLine returns the punctual command that creates the first job.
func commandLine(origin, key string, request rawjson.Value) string {
	text := "export PUNCTUAL_URL=" + origin + "\n"
	if key != "" {
		text += "export PUNCTUAL_API_KEY=" + key + "\n"
	}
	text += "punctual jobs create " + rawjson.Text(rawjson.Get(request, "url")) + " --when 'in 10 seconds'"
	if body := rawjson.Get(request, "body"); body != nil {
		text += " \\\n  --data " + quoteShell(string(body))
	}
	return text
}
