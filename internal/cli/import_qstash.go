package cli

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/punctual-dev/punctual/internal/auth"
	"github.com/punctual-dev/punctual/internal/buildinfo"
	"github.com/punctual-dev/punctual/internal/importer"
)

type importQStash struct {
	serviceFlags
	Source string `env:"QSTASH_URL" default:"https://qstash.upstash.io" placeholder:"URL" help:"Where the account is that is imported."`
	Token  string `env:"QSTASH_TOKEN" placeholder:"TOKEN" help:"The token of that account. Prefer the environment variable: other users can see a command's flags."`
	DryRun bool   `type:"switch" help:"Print what would be imported and change nothing."`
	Yes    bool   `short:"y" type:"switch" help:"Import without asking at a terminal."`
}

// qstashItself is where QStash is.
const qstashItself = "https://qstash.upstash.io"

// keyInToken returns the key in a token as punctual keys qstash prints it, or the token.
func keyInToken(token string) string {
	var pair struct{ Password string }
	if text, err := base64.StdEncoding.DecodeString(token); err == nil && json.Unmarshal(text, &pair) == nil && pair.Password != "" {
		return pair.Password
	}
	return token
}

// qstashResult is what became of an item.
type qstashResult struct {
	Kind   string   `json:"kind"`
	Name   string   `json:"name"`
	Result string   `json:"result"` // imported, would be imported, not imported
	Reason string   `json:"reason,omitempty"`
	Notes  []string `json:"notes,omitempty"`
}

func (r *qstashResult) id() string { return r.Name }

// Run creates what an account at QStash has, through the service's QStash-compatible API.
// What can't be imported is listed, and it returns an error.
func (c *importQStash) Run(env *environment) error {
	if c.Token == "" {
		return failed(statusUsage, "the token of the account that is imported is missing; set QSTASH_TOKEN")
	}
	c.Source = strings.TrimSuffix(cmp.Or(c.Source, qstashItself), "/")
	s, err := c.session(env)
	if err != nil {
		return err
	}
	switch key := keyInToken(c.Token); {
	case key == s.key:
		return failed(statusUsage, "QSTASH_TOKEN is for the account that things are imported to; it must be for the one that is imported")
	case strings.HasPrefix(key, auth.KeyPrefix) && c.Source == qstashItself:
		return failed(statusUsage, "QSTASH_TOKEN is a key of punctual, which is not sent to %s", qstashItself) // others must not get it
	}
	var items []importer.QStashItem
	for _, path := range importer.QStashLists {
		list, err := c.read(env, path)
		if err != nil {
			return err
		}
		some, err := importer.QStash(path, list)
		if err != nil {
			return err
		}
		items = append(items, some...)
	}
	if len(items) == 0 {
		return errors.New("the account has nothing to import")
	}
	if !c.DryRun && !c.Yes && isInteractive(env.in) {
		if err := c.report(env, c.carryOut(env, items, true)); err != nil {
			return err
		}
		if err := agreed(env, "Import this?", "nothing was imported"); err != nil {
			return err
		}
	}
	results := c.carryOut(env, items, c.DryRun)
	if err := c.report(env, results); err != nil {
		return err
	}
	left := 0
	for i := range results {
		if results[i].Reason != "" {
			left++
		}
	}
	if left > 0 {
		return fmt.Errorf("%d of %s could not be imported", left, counted(len(results), "item", "items"))
	}
	return nil
}

// maxQStashList bounds a list that is read, in bytes.
const maxQStashList = 64 << 20

// read returns a list of the account that is imported; an empty one if the source does not
// have such.
func (c *importQStash) read(env *environment, path string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(env.ctx, callTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, c.Source+path, nil)
	if err != nil {
		return nil, failed(statusUsage, "--source must be a URL: %w", err)
	}
	request.Header.Set("Authorization", "Bearer "+c.Token)
	request.Header.Set("User-Agent", "punctual/"+buildinfo.Read().Version)
	client := &http.Client{CheckRedirect: func(*http.Request,
		[]*http.Request) error {
		return http.ErrUseLastResponse
	}} // which would get the token
	got, err := client.Do(request)
	if err != nil {
		return nil, failed(statusUnreachable, "the account that is imported can't be read: %w", err)
	}
	defer func() { _ = got.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(got.Body, maxQStashList+1))
	switch {
	case err != nil:
		return nil, failed(statusUnreachable, "reading %s of the account that is imported: %w", path, err)
	case len(text) > maxQStashList:
		return nil, fmt.Errorf("%s of the account that is imported has more than %d bytes", path, maxQStashList)
	case got.StatusCode == http.StatusNotFound:
		return []byte("[]"), nil
	case got.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("the account that is imported responded %s to %s: %s", got.Status, path, printable(qstashError(text)))
	}
	return text, nil
}

// qstashError returns what an error of the QStash API says.
func qstashError(text []byte) string {
	var p struct{ Error string }
	_ = json.Unmarshal(text, &p)
	return cmp.Or(p.Error, "it does not say why")
}

// carryOut makes the calls of items, or none in a dry run.
func (c *importQStash) carryOut(env *environment, items []importer.QStashItem, dryRun bool) []qstashResult {
	results := make([]qstashResult, len(items))
	for i := range items {
		item := &items[i]
		r := qstashResult{Kind: item.Kind, Name: item.Name, Result: "imported", Notes: item.Notes}
		if dryRun {
			r.Result = "would be imported"
		}
		err := item.Err
		for k := 0; k < len(item.Calls) && err == nil && !dryRun; k++ {
			call := &item.Calls[k]
			_, err = c.call(env, call.Method, call.Path, call.Body, call.Header)
		}
		if err != nil {
			r.Result, r.Reason = "not imported", err.Error()
		}
		results[i] = r
	}
	return results
}

func (c *importQStash) report(env *environment, results []qstashResult) error {
	records, err := json.Marshal(results)
	if err != nil {
		return err
	}
	columns := []column{{title: "KIND"}, {title: "NAME", shrink: true}, {title: "RESULT"}}
	err = listing[qstashResult]{
		id:      (*qstashResult).id,
		columns: columns,
		row:     func(_ terminal, r *qstashResult) []string { return []string{r.Kind, r.Name, r.Result} },
	}.print(&c.displayFlags, env, records, nil)
	if err != nil || c.JSON || c.Quiet {
		return err
	}
	for i := range results {
		r := &results[i]
		for _, note := range r.Notes {
			_, _ = fmt.Fprintf(env.errOut, "%s %s: %s\n", r.Kind, printable(r.Name), printable(note))
		}
		if r.Reason != "" {
			_, _ = fmt.Fprintf(env.errOut, "%s %s: not imported: %s\n", r.Kind, printable(r.Name), printable(r.Reason))
		}
	}
	return nil
}
