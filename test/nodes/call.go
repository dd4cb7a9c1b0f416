package nodes

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/punctual-dev/punctual/test/e2e/harness"
	"github.com/punctual-dev/punctual/test/pace"
)

// callWithin is how long a client waits before it asks another node, avoidFor
// how long it then keeps away from the one that failed, and tryFor how long it
// goes on asking.
const (
	callWithin = 10 * time.Second
	avoidFor   = 2 * time.Second
	tryFor     = 90 * time.Second
)

// answer is the response of a node.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// call asks one node once. Further headers are given as names and values.
func (c *Cluster) call(ctx context.Context, n *Node, method, path, body string, headers ...string) (*answer, error) {
	n.calls.Add(1)
	defer n.calls.Add(-1)
	req, err := http.NewRequestWithContext(ctx, method, n.URL()+path, bytes.NewReader([]byte(body)))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+c.Key)
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return &answer{resp.StatusCode, resp.Header, text}, err
}

// insist asks one node until it answers other than 503, as a node does that a busy machine
// has kept from its database for seconds. What is asked for must bear repeating. It also
// returns how often the outcome of a call was not known.
func (c *Cluster) insist(ctx context.Context, n *Node, method, path, body string, headers ...string) (a *answer, unknown int, err error) {
	ctx, cancel := context.WithTimeout(ctx, pace.Guard(tryFor))
	defer cancel()
	for {
		if a, err = c.call(ctx, n, method, path, body, headers...); err != nil || a.status != http.StatusServiceUnavailable {
			return a, unknown, err
		}
		unknown++
		select {
		case <-ctx.Done():
			return a, unknown, nil
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// ask asks nodes until one answers other than 503, as a careful client does.
func (c *Cluster) ask(ctx context.Context, method, path, body string) (*answer, error) {
	ctx, cancel := context.WithTimeout(ctx, pace.Guard(tryFor))
	defer cancel()
	for {
		n := c.pick()
		once, done := context.WithTimeout(ctx, pace.Limit(callWithin))
		a, err := c.call(once, n, method, path, body)
		done()
		switch {
		case err == nil && a.status == http.StatusInternalServerError:
			return nil, fmt.Errorf("%s answered %s %s with an internal error: %s", n.Name, method, path, a.body)
		case err == nil && a.status != http.StatusServiceUnavailable:
			return a, nil
		case err == nil && a.header.Get("Retry-After") == "":
			return nil, fmt.Errorf("%s answered 503 without Retry-After", n.Name)
		case err == nil:
			err = errors.New(string(a.body))
		}
		n.avoid(avoidFor)
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("no node served %s %s: %w", method, path, err)
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// get asks for something that must be there.
func (c *Cluster) get(path string, into any) (*answer, error) {
	a, err := c.ask(context.Background(), http.MethodGet, path, "")
	if err != nil {
		return nil, err
	}
	if a.status != http.StatusOK {
		return nil, fmt.Errorf("GET %s: status %d: %s", path, a.status, a.body)
	}
	return a, json.Unmarshal(a.body, into)
}

var nextPage = regexp.MustCompile(`<([^>]*)>\s*;[^,]*rel="?next"?`)

// walk reads a list to its end.
func walk[T any](c *Cluster, path string, visit func(*T)) error {
	for path != "" {
		var page struct{ Data []T }
		a, err := c.get(path, &page)
		if err != nil {
			return err
		}
		for i := range page.Data {
			visit(&page.Data[i])
		}
		path = ""
		if found := nextPage.FindStringSubmatch(a.header.Get("Link")); found != nil {
			path = found[1][strings.Index(found[1], "/api/"):]
		}
	}
	return nil
}

// sentAt returns when a request was signed, in whole seconds; zero if it does not say.
func sentAt(hit harness.Hit) time.Time {
	sent, err := strconv.ParseInt(hit.Header.Get("Webhook-Timestamp"), 10, 64)
	if err != nil {
		return time.Time{}
	}
	return time.Unix(sent, 0)
}

// collect reads the outcome of everything into the history.
func (c *Cluster) collect(h *History) error {
	logs := make(chan error, 1)
	go func() {
		logs <- walk(c, "/api/logs?limit=100", func(l *Log) { h.Logs[l.Job] = append(h.Logs[l.Job], *l) })
	}()
	err := walk(c, "/api/jobs?limit=100", func(j *Job) { h.Jobs[j.Number] = *j })
	for _, hit := range c.Target.Hits() {
		number, scan := strconv.ParseInt(hit.Header.Get("X-Punctual-Job-Id"), 10, 64)
		if scan != nil || sentAt(hit).IsZero() {
			err = errors.Join(err, fmt.Errorf("a request without the number of its job or a time: %s", hit.Path))
			continue
		}
		h.Hits[number] = append(h.Hits[number], Hit{hit.Header.Get("X-Punctual-Attempt"), hit.At, hit.End, hit.Aborted, sentAt(hit)})
	}
	return errors.Join(err, <-logs)
}
