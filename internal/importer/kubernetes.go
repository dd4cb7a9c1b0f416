package importer

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/punctual-dev/punctual/internal/crontab"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/yamljson"
)

// cronJob is what a CronJob of batch/v1 says.
type cronJob struct {
	Kind     string
	Metadata struct{ Name, Namespace string }
	Items    []cronJob // of a list
	Spec     struct {
		Schedule, TimeZone      string
		Suspend                 bool
		StartingDeadlineSeconds *int64
		JobTemplate             struct {
			Spec struct {
				Completions, Parallelism *int
				Template                 struct {
					Spec struct {
						InitContainers []json.RawMessage
						Containers     []container
					}
				}
			}
		}
	}
}

type container struct {
	Image         string
	Command, Args []string
	Env           []struct {
		Name, Value string
		ValueFrom   json.RawMessage
	}
}

// Kubernetes reads CronJobs, as YAML or JSON, whose container runs curl or wget.
func Kubernetes(text []byte, o Options) ([]crontab.Entry, error) {
	if len(text) > MaxBytes {
		return nil, errLarge
	}
	documents, entries, err := objects(text)
	if err != nil {
		return nil, err
	}
	at := &lines{text: text}
	for _, document := range documents {
		var j cronJob
		if err := json.Unmarshal(document, &j); err != nil {
			entries = append(entries, refused(at.of(), "", fmt.Errorf("is a document that is no Kubernetes object: %w", err)))
			continue
		}
		for _, one := range append([]cronJob{j}, j.Items...) {
			if one.Kind != "CronJob" {
				continue
			}
			line := at.of("name: "+one.Metadata.Name, `"`+one.Metadata.Name+`"`, one.Metadata.Name)
			e, err := one.entry(o)
			if err != nil {
				e = refused(line, one.Metadata.Name, err)
			}
			e.Line, e.Text = line, one.Metadata.Name
			entries = append(entries, e)
		}
	}
	slices.SortStableFunc(entries, func(a, b crontab.Entry) int { return a.Line - b.Line })
	return entries, nil
}

// separator matches the lines that separate YAML documents.
var separator = regexp.MustCompile(`(?m)^---(?:[ \t].*)?\r?$`)

// objects returns the documents of a file as JSON, and an entry for each that can't be read.
// Its error is that none can.
func objects(text []byte) (documents [][]byte, unread []crontab.Entry, err error) {
	if documents, err = yamljson.Documents(text); err == nil {
		return documents, nil, nil
	}
	if bytes.Contains(text, []byte("{{")) {
		return nil, nil, fmt.Errorf("the file looks like a template of Helm; give what helm template prints of it (%w)", err)
	}
	documents = nil
	begin := 0
	for _, end := range append(separator.FindAllIndex(text, -1), []int{len(text), len(text)}) {
		read, wrong := yamljson.Documents(text[begin:end[0]])
		if wrong != nil {
			line := 1 + bytes.Count(text[:begin], []byte("\n"))
			unread = append(unread, refused(line, "", fmt.Errorf("begins a document that can't be read: %w", wrong)))
		}
		documents = append(documents, read...)
		begin = end[1]
	}
	if len(documents) == 0 {
		return nil, nil, err
	}
	return documents, unread, nil
}

func (j *cronJob) entry(o Options) (e crontab.Entry, err error) {
	zone := j.Spec.TimeZone
	if zone == "" {
		zone = o.Zone
	}
	job := &j.Spec.JobTemplate.Spec
	containers := job.Template.Spec.Containers
	switch {
	case j.Spec.Suspend:
		return e, errors.New("is suspended")
	case zone == "":
		return e, errors.New("has no timeZone; --zone must name that of the cluster's controller manager, which usually is UTC")
	case !onePod(job.Completions, job.Parallelism):
		return e, errors.New("has completions or parallelism; a schedule sends one request")
	case len(job.Template.Spec.InitContainers) > 0:
		return e, errors.New("has init containers, which work before the request; a schedule sends the request only")
	case len(containers) != 1:
		return e, errors.New("has several containers; a schedule sends one request")
	}
	expr, err := fiveFields(j.Spec.Schedule)
	if err == nil {
		err = unionOfDays(expr)
	}
	if err != nil {
		return e, err
	}
	words, err := containers[0].words()
	if err != nil {
		return e, err
	}
	key := "k8s:" + j.Metadata.Name
	if j.Metadata.Namespace != "" {
		key = "k8s:" + j.Metadata.Namespace + "/" + j.Metadata.Name
	}
	command := crontab.Command{Cron: expr, Zone: zone, Words: words}
	if len(words) == 3 && words[1] == "-c" && shells[words[0]] {
		command.Words, command.Shell, command.Variables = nil, words[2], containers[0].shellVariables()
	}
	if e, err = command.Convert(key); err != nil {
		return e, containers[0].withoutVariable(err)
	}
	if d := j.Spec.StartingDeadlineSeconds; d != nil {
		e.Schedule = rawjson.Object(append(rawjson.Members(e.Schedule),
			rawjson.Member{Name: "expires_in", Value: rawjson.Value(strconv.FormatInt(*d, 10))}))
	}
	return e, nil
}

// onePod reports whether a job runs one pod. Never more pods run at once than are to
// complete, if that is set.
func onePod(completions, parallelism *int) bool {
	if completions == nil {
		return parallelism == nil || *parallelism == 1
	}
	return *completions == 1 && (parallelism == nil || *parallelism > 0)
}

var shells = map[string]bool{"sh": true, "/bin/sh": true, "bash": true, "/bin/bash": true}

// reference matches what Kubernetes replaces: $$ by $, and $(NAME) by a variable.
var reference = regexp.MustCompile(`\$\$|\$\(([A-Za-z_][A-Za-z0-9_.-]*)\)`)

// curlImage matches the images that run curl unless their arguments name a program.
var curlImage = regexp.MustCompile(`^(?:(?:docker|quay)\.io/)?(?:curlimages|alpine)/curl(?:[:@].*)?$`)

// variables returns the container's own variables, and those whose values are elsewhere.
func (c *container) variables() (values map[string]string, elsewhere map[string]bool) {
	values, elsewhere = map[string]string{}, map[string]bool{}
	for _, v := range c.Env {
		if values[v.Name] = v.Value; v.ValueFrom != nil {
			delete(values, v.Name) // also that of an earlier one with its name
		}
		elsewhere[v.Name] = v.ValueFrom != nil
	}
	return values, elsewhere
}

// replaced reports whether Kubernetes may replace parts of a variable's value.
func replaced(value string) bool {
	return strings.Contains(value, "$(") || strings.Contains(value, "$$")
}

// shellVariables returns the variables that a shell in the container has, except those in
// which Kubernetes may replace parts and those that the shell may replace by names of files.
// The ? of a URL's query is taken as that, as in the command itself.
func (c *container) shellVariables() map[string]string {
	values, _ := c.variables()
	maps.DeleteFunc(values, func(_, value string) bool { return replaced(value) || strings.ContainsAny(value, "*[") })
	return values
}

// unsetVariable matches the reason for which a shell's command can't be converted if
// shellVariables lacks a variable.
var unsetVariable = regexp.MustCompile(`uses the variable (\w+), which the crontab doesn't set`)

// withoutVariable returns the error of a conversion, in which a variable that is not in
// shellVariables is explained.
func (c *container) withoutVariable(err error) error {
	values, _ := c.variables()
	return errors.New(unsetVariable.ReplaceAllStringFunc(err.Error(), func(found string) string {
		name := unsetVariable.FindStringSubmatch(found)[1]
		if _, has := values[name]; has {
			return "uses the variable " + name + ", whose value has $(, $$, * or [, which Kubernetes or the shell may replace: " +
				"write the value into the command, in single quotes"
		}
		return "uses the variable " + name + ", whose value the CronJob does not have: " +
			"store it as a secret and write {{secret.NAME}} in a header"
	}))
}

// words returns the command with its arguments, in which $$ and the container's own
// variables are replaced.
func (c *container) words() (words []string, err error) {
	values, elsewhere := c.variables()
	command := c.Command
	if len(command) == 0 {
		if !curlImage.MatchString(c.Image) || len(c.Args) == 0 {
			return nil, errors.New("has no command: what its image runs is unknown")
		}
		if first := c.Args[0]; strings.HasPrefix(first, "-") || strings.Contains(first, "://") {
			command = []string{"curl"}
		}
	}
	for _, word := range append(append([]string{}, command...), c.Args...) {
		words = append(words, reference.ReplaceAllStringFunc(word, func(found string) string {
			if found == "$$" {
				return "$"
			}
			name := found[2 : len(found)-1]
			value, known := values[name]
			switch {
			case known && replaced(value):
				err = fmt.Errorf("uses the variable %s, whose value has $( or $$, which Kubernetes replaces: "+
					"write the value into the command, with $$ for each $", found)
			case known:
			case elsewhere[name]:
				err = fmt.Errorf("uses the variable %s, whose value is in the cluster (valueFrom): "+
					"store it as a secret and write {{secret.NAME}} in a header", found)
			default:
				err = fmt.Errorf("uses the variable %s, which the CronJob does not set", found)
			}
			return value
		}))
	}
	return words, err
}
