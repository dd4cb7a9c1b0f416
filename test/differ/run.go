package differ

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"time"
)

// sides are the services that are compared.
type sides [2]*side

// difference is where a sequence ends differently.
type difference struct {
	call *call
	text string
}

// run sends a sequence to both sides. It returns where they differ first; nil if they
// don't. The error is of the test itself.
func (ss sides) run(ctx context.Context, sequence []call) (*difference, error) {
	begun := time.Now()
	for _, s := range ss {
		if err := s.newRun(ctx, begun); err != nil {
			return nil, err
		}
	}
	defer func() {
		for _, s := range ss {
			s.target.release(s.run, 0)
		}
	}()
	for i := range sequence {
		c := &sequence[i]
		var texts [2]string
		err := ss.both(func(i int, s *side) (err error) {
			texts[i], err = s.make(c)
			return err
		})
		if err != nil {
			return &difference{c, err.Error()}, nil
		}
		if texts[0] != texts[1] {
			return &difference{c, fmt.Sprintf("%s\n%s", ss.names(), compare(texts[0], texts[1]))}, nil
		}
	}
	return nil, nil
}

func (ss sides) names() string { return fmt.Sprintf("- %s\n+ %s", ss[0].name, ss[1].name) }

// both does something on both sides at once.
func (ss sides) both(do func(int, *side) error) error {
	var group sync.WaitGroup
	var errs [2]error
	for i, s := range ss {
		group.Go(func() { errs[i] = do(i, s) })
	}
	group.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// make makes a call, waits until the side is at rest, and returns what is compared.
func (s *side) make(c *call) (string, error) {
	if c.release > 0 {
		s.target.release(s.run, c.release)
		return "", s.awaitRest()
	}
	if c.method == "GET" {
		return s.readPages(c)
	}
	headers := map[string]string{}
	for name, value := range c.headers {
		headers[name] = s.resolve(value)
	}
	r, err := s.send(c.account, c.method, s.resolve(c.path), s.resolve(c.body), headers)
	if err != nil {
		return "", err
	}
	s.statuses[fmt.Sprint(c.method, " ", kindOf(c.path), " ", r.status)]++
	s.found[c.number] = idsOf(r.header, r.body)
	body := r.body
	if strings.HasSuffix(c.path, "/run") {
		body = progress.ReplaceAll(body, []byte(`$1:null`))
	}
	return s.head(r) + s.body(body), s.awaitRest()
}

// readPages makes a call that reads, and follows the links to further pages.
func (s *side) readPages(c *call) (string, error) {
	l := &list{path: s.resolve(c.path)}
	var text strings.Builder
	for path := l.path; ; {
		r, err := s.send(c.account, c.method, path, "", nil)
		if err != nil {
			return "", err
		}
		text.WriteString(s.head(r))
		if isList := l.add(r.body); !isList {
			text.WriteString(s.body(r.body))
		}
		next := nextPage.FindStringSubmatch(r.header.Get("Link"))
		if !c.walks || next == nil || len(l.sizes) == maxPages {
			break
		}
		path = strings.TrimPrefix(next[1], s.url)
	}
	if wrong := l.wrongOrder(); wrong != "" {
		return "", fmt.Errorf("on %s, %s", s.name, wrong)
	}
	return text.String() + s.normalList(l), nil
}

// progress is what may have become of a job when the response to run is written.
var progress = regexp.MustCompile(`("attempted_at"|"completed_at"|"discarded_at"|"state"):("[^"]*"|null)`)

var varying = regexp.MustCompile(`<[^>]*>|\?.*|\b[a-z]+:[a-z0-9.]+|\b[lsk]\d\b`)

// kindOf returns a path without what names a record.
func kindOf(path string) string { return varying.ReplaceAllString(path, "*") }

// maxPages bounds a walk through a list.
const maxPages = 200

var nextPage = regexp.MustCompile(`<([^>]*)>; *rel="next"`)

// compare returns the lines that differ, with some that don't around them.
func compare(a, b string) string {
	x, y := strings.Split(a, "\n"), strings.Split(b, "\n")
	from := 0
	for from < len(x) && from < len(y) && x[from] == y[from] {
		from++
	}
	for len(x) > from && len(y) > from && x[len(x)-1] == y[len(y)-1] {
		x, y = x[:len(x)-1], y[:len(y)-1]
	}
	var out strings.Builder
	write := func(mark string, lines []string) {
		for i, line := range lines {
			if i == maxLines {
				fmt.Fprintf(&out, "%s … %d more lines\n", mark, len(lines)-i)
				return
			}
			fmt.Fprintf(&out, "%s %s\n", mark, line)
		}
	}
	write(" ", x[max(0, from-20):from])
	write("-", x[from:])
	write("+", y[from:])
	return out.String()
}

// maxLines is how many lines of each side are shown.
const maxLines = 60
