package dashboard

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/punctual-dev/punctual/internal/auth"
	"github.com/punctual-dev/punctual/internal/board"
	"github.com/punctual-dev/punctual/internal/edge"
	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/store"
)

var welcomeRoutes = []route{
	{"/welcome", forOwners, map[string]handler{"GET": (*Server).welcome}},
	{"/welcome/key", forOwners, map[string]handler{"POST": (*Server).welcomeKey}},
	{"/welcome/send", forOwners, map[string]handler{"POST": (*Server).welcomeSend}},
	{"/welcome/events", forOwners, map[string]handler{"GET": (*Server).welcomeEvents}},
}

// reach says whether a job can send a message to the page it is made from.
type reach int

const (
	reachable     reach = iota
	overPlainHTTP       // the page came over http, and targets take https
	onPrivateHost       // the address is a private one, and those are not permitted
)

// welcome is what the page of the first steps shows.
type welcome struct {
	newKey   string // shown this once
	hasKey   bool
	host     string
	reach    reach
	request  rawjson.Value // the body of the first job's creation
	channel  string
	messages []board.Message
	jobs     []*job.Job // the newest
	now      time.Time
	notice   string
	err      error // why the message could not be sent
}

// jobsWatched is how many of the newest jobs the page of the first steps shows.
const jobsWatched = 3

// channelOf names the channel of an account's page. Nobody can guess it: it
// follows from the random salt of the password's hash.
func channelOf(a *store.Account) string {
	sum := sha256.Sum256([]byte("the channel of " + a.ID.String() + " " + a.Password))
	return "page-" + hex.EncodeToString(sum[:8])
}

// reachOf tells whether jobs may be sent to where the page comes from.
func (s *Server) reachOf(c *call) reach {
	here, err := url.Parse(edge.Origin(c.r))
	switch {
	case err != nil, here.Scheme != "https":
		return overPlainHTTP
	case s.Manager.CheckHost != nil && s.Manager.CheckHost(here.Host) != "":
		return onPrivateHost
	}
	return reachable
}

// firstJob gives the body of a call that creates the first job.
func firstJob(where reach, origin, channel string) rawjson.Value {
	if where != reachable {
		return rawjson.Value(`{"method": "get", "url": "https://example.com/", "schedule_in": [10, "seconds"]}`)
	}
	return rawjson.Value(`{"method": "post", "url": ` + string(rawjson.Quote(origin+"/api/broadcast")) + `, "schedule_in": [10, "seconds"], ` +
		`"body": {"content": "Hello from ten seconds ago", "channel": ` + string(rawjson.Quote(channel)) + `}}`)
}

func (s *Server) readWelcome(c *call) (*welcome, error) {
	account := c.viewer().Account
	d := &welcome{reach: s.reachOf(c), host: c.r.Host, channel: channelOf(account), now: s.Store.Now(), notice: c.notice()}
	d.request = firstJob(d.reach, edge.Origin(c.r), d.channel)
	d.messages = s.Board.Open(d.channel)
	jobs, err := s.Store.JobList(c.r.Context(), c.owner(), store.JobQuery{ListQuery: store.ListQuery{Limit: jobsWatched}})
	if err != nil {
		return nil, err
	}
	d.jobs = jobs
	if c.part() != "" {
		return d, nil
	}
	keys, err := s.Store.KeyList(c.r.Context(), account.Number)
	for _, k := range keys {
		d.hasKey = d.hasKey || k.RevokedAt.IsZero()
	}
	d.newKey = c.newKey()
	return d, err
}

func (s *Server) welcome(c *call) error {
	d, err := s.readWelcome(c)
	if err != nil {
		return err
	}
	if c.part() == "live" {
		return c.render(http.StatusOK, arrivals(d))
	}
	return c.render(http.StatusOK, welcomePage(d))
}

func (s *Server) welcomeKey(c *call) error {
	if err := s.makeKey(c, c.viewer().Account, auth.KeySpec{Name: "first steps", Scope: store.ScopeJobs}); err != nil {
		return err
	}
	return c.redirect("/welcome?done=key")
}

// welcomeSend makes the job that the page shows how to make.
func (s *Server) welcomeSend(c *call) error {
	body := firstJob(s.reachOf(c), edge.Origin(c.r), channelOf(c.viewer().Account))
	_, _, err := s.Manager.Create(c.r.Context(), c.owner(), body, nil)
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
	d.err = err
	return c.render(http.StatusUnprocessableEntity, welcomePage(d))
}

// welcomeEvents tells the page of the first steps when there is something new:
// a message on its channel, or a change of the account's jobs.
func (s *Server) welcomeEvents(c *call) error {
	arrived, stop := s.Board.Watch(channelOf(c.viewer().Account))
	defer stop()
	stream, err := s.Events.OpenHints(c.r.Context(), c.owner(), edge.ClientAddr(c.r))
	if err != nil {
		return err
	}
	ctx, end := context.WithCancel(c.r.Context())
	var telling sync.WaitGroup
	telling.Go(func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-arrived:
				stream.Tell("message")
			}
		}
	})
	stream.Serve(c, c.r, c.permit)
	end()
	telling.Wait()
	return nil
}

// wayToCall is a way to make the first job.
type wayToCall struct{ id, name, text string }

// ways gives the ways to make the first job, with the key filled in when it is
// there to be shown.
func (d *welcome) ways(origin string) []wayToCall {
	key, host := d.newKey, strings.TrimPrefix(strings.TrimPrefix(origin, "https://"), "http://")
	shell, python, script := key, `"`+key+`"`, `"`+key+`"`
	if key == "" {
		key, shell, python, script = "YOUR_KEY", "$PUNCTUAL_KEY", `os.environ["PUNCTUAL_KEY"]`, "process.env.PUNCTUAL_KEY"
	}
	body := string(d.request)
	return []wayToCall{
		{"curl", "curl", "curl " + origin + "/api/jobs \\\n  -H \"Authorization: Bearer " + shell + "\" \\\n  -H 'Content-Type: application/json' \\\n  -d " + quoteShell(body)},
		{"cli", "Command line", d.commandLine(origin)},
		{"http", "Plain HTTP", fmt.Sprintf("POST /api/jobs HTTP/1.1\nHost: %s\nAuthorization: Bearer %s\nContent-Type: application/json\nContent-Length: %d\n\n%s", host, key, len(body), body)},
		{"python", "Python", "import os, urllib.request\n\ncall = urllib.request.Request(\n    \"" + origin + "/api/jobs\",\n    data=b'''" + body +
			"''',\n    headers={\"Authorization\": \"Bearer \" + " + python + ", \"Content-Type\": \"application/json\"},\n)\nprint(urllib.request.urlopen(call).read().decode())"},
		{"javascript", "JavaScript", "const answer = await fetch(\"" + origin + "/api/jobs\", {\n  method: \"POST\",\n  headers: {Authorization: \"Bearer \" + " + script +
			", \"Content-Type\": \"application/json\"},\n  body: JSON.stringify(" + body + "),\n});\nconsole.log(await answer.json());"},
	}
}

// commandLine makes the first job by punctual's own command.
func (d *welcome) commandLine(origin string) string {
	text := "export PUNCTUAL_SERVICE=" + origin + "\n"
	if d.newKey != "" {
		text += "export PUNCTUAL_KEY=" + d.newKey + "\n"
	}
	text += "punctual jobs create " + rawjson.Text(rawjson.Get(d.request, "url")) + " --when 'in 10 seconds'"
	if body := rawjson.Get(d.request, "body"); body != nil {
		text += " \\\n  --data " + quoteShell(string(body))
	}
	return text
}
