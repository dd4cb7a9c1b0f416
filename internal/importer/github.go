package importer

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/punctual-dev/punctual/internal/crontab"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/yamljson"
)

// GitHub reads a workflow with the trigger schedule, whose times are in UTC. The schedule
// starts it through its trigger workflow_dispatch, with the secret github as token.
// Options.Repository is OWNER/NAME/FILE.yml or OWNER/NAME, with the workflow's name.
func GitHub(text []byte, o Options) ([]crontab.Entry, error) {
	if len(text) > MaxBytes {
		return nil, errLarge
	}
	documents, err := yamljson.Documents(text)
	if err != nil {
		return nil, err
	}
	if len(documents) != 1 {
		return nil, errors.New("the file is no workflow")
	}
	var workflow struct {
		On json.RawMessage
	}
	if err := json.Unmarshal(documents[0], &workflow); err != nil {
		return nil, fmt.Errorf("the file is no workflow: %w", err)
	}
	var triggers struct {
		Schedule []struct{ Cron, Timezone string }
	}
	if json.Unmarshal(workflow.On, &triggers) != nil || len(triggers.Schedule) == 0 {
		return nil, nil // it has other triggers only
	}
	repository, file := path.Split(o.Repository)
	if path.Ext(file) == "" || repository == "" {
		return nil, errors.New("--workflow must name the repository and the file, as in OWNER/NAME/nightly.yml")
	}
	trigger := rawjson.Get(rawjson.Get(documents[0], "on"), "workflow_dispatch")
	required := requiredInputs(trigger)
	at := &lines{text: text}
	var entries []crontab.Entry
	for i, s := range triggers.Schedule {
		line := at.of(s.Cron)
		expr, err := fiveFields(s.Cron)
		switch {
		case err != nil:
		case trigger == nil:
			err = errors.New("belongs to a workflow without the trigger workflow_dispatch, by which a request starts it; add it")
		case len(required) > 0:
			err = fmt.Errorf("belongs to a workflow with required inputs, without which GitHub refuses to start it; give %s a default",
				strings.Join(required, ", "))
		default:
			err = unionOfDays(expr)
		}
		if err != nil {
			entries = append(entries, refused(line, s.Cron, err))
			continue
		}
		entry := dispatch(fmt.Sprintf("github:%s#%d", o.Repository, i+1), expr, cmp.Or(s.Timezone, "UTC"), cmp.Or(o.Ref, "main"),
			"https://api.github.com/repos/"+path.Clean(repository)+"/actions/workflows/"+file+"/dispatches")
		entry.Line, entry.Text = line, s.Cron
		entries = append(entries, entry)
	}
	return entries, nil
}

// requiredInputs returns the names of the inputs of a trigger workflow_dispatch that a
// request must have, in their order.
func requiredInputs(trigger rawjson.Value) (names []string) {
	inputs := rawjson.Get(trigger, "inputs")
	if inputs.Kind() != '{' {
		return nil
	}
	for _, input := range rawjson.Members(inputs) {
		var is struct {
			Required bool
			Default  json.RawMessage
		}
		if json.Unmarshal(input.Value, &is) == nil && is.Required && is.Default == nil {
			names = append(names, input.Name)
		}
	}
	return names
}

// dispatch returns a schedule that starts a workflow at a ref by the URL of its dispatches.
func dispatch(key, cron, zone, ref, url string) crontab.Entry {
	f := fields{}
	f.text("key", key)
	f.text("cron", cron)
	f.zone(zone)
	f.text("method", "POST")
	f.text("url", url)
	f.raw("headers", `{"authorization":"Bearer {{secret.github}}","accept":"application/vnd.github+json"}`)
	f.raw("body", string(rawjson.Object([]rawjson.Member{{Name: "ref", Value: rawjson.Quote(ref)}})))
	f.raw("metadata", "false")
	return crontab.Entry{Schedule: rawjson.Object(f), Zone: zone, Method: "POST", URL: url}
}
