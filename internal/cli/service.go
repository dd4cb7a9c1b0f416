package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// serviceFlags are the flags of commands that call a running service.
type serviceFlags struct {
	URL  string `name:"service" setting:"" default:"http://127.0.0.1:8080" placeholder:"URL" help:"The URL of the service."`
	Key  apiKey `name:"key" setting:"" placeholder:"KEY" help:"An account's API key. Prefer the environment variable: other users can see a command's flags."`
	JSON bool   `name:"json" type:"switch" help:"Print JSON."`
}

const (
	// callWithin is how long a call may take.
	callWithin = 30 * time.Second
	// maxAnswer bounds what is read: a page of the largest records.
	maxAnswer = 256 << 20
)

// record calls the API and gives the data of its answer, as it was written.
func (c *serviceFlags) record(env *environment, method, path string, body []byte) ([]byte, error) {
	base, err := url.Parse(c.URL)
	if err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https" {
		return nil, fmt.Errorf("--service must be an address like https://punctual.example.com, not %q", c.URL)
	}
	if c.Key == "" {
		return nil, errors.New("a key is needed: set PUNCTUAL_KEY, or give --key; punctual keys create EMAIL makes one")
	}
	request, err := http.NewRequestWithContext(env.ctx, method, strings.TrimSuffix(c.URL, "/")+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Authorization", "Bearer "+string(c.Key))
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	client := &http.Client{Timeout: callWithin}
	response, err := client.Do(request)
	if err != nil {
		return nil, fmt.Errorf("the service can't be reached; --service or PUNCTUAL_SERVICE says where it is: %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if err != nil {
		return nil, fmt.Errorf("reading the service's response: %w", err)
	}
	if response.StatusCode >= http.StatusMultipleChoices {
		return nil, refusal(response.Status, text)
	}
	var answer struct{ Data json.RawMessage }
	if err := json.Unmarshal(text, &answer); err != nil || answer.Data == nil {
		return nil, fmt.Errorf("what answers at %s is not punctual", c.URL)
	}
	return answer.Data, nil
}

// refusal makes an error of a problem (RFC 9457), with each of its faults.
func refusal(status string, text []byte) error {
	var problem struct {
		Detail string
		Errors []struct{ Detail, Pointer, Parameter string }
	}
	if err := json.Unmarshal(text, &problem); err != nil || problem.Detail == "" {
		return fmt.Errorf("the service answered %s", status)
	}
	said := problem.Detail
	if len(problem.Errors) > 1 {
		for _, e := range problem.Errors {
			said += "\n  " + strings.TrimPrefix(e.Pointer, "#/") + e.Parameter + " " + e.Detail
		}
	}
	return errors.New(said)
}
