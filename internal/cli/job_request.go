package cli

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/alecthomas/kong"

	"github.com/punctual-dev/punctual/internal/naturaltime"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/schedule"
)

// requestFlags describe the request of a job or a schedule.
type requestFlags struct {
	Target  string       `arg:"" optional:"" name:"url" help:"Where the request goes: an https address."`
	File    string       `short:"f" placeholder:"FILE" help:"A JSON or YAML file with fields of the API; - for standard input. Other flags replace its fields."`
	Method  string       `short:"X" placeholder:"METHOD" help:"The request's method. Default: POST with a body, otherwise GET."`
	Header  []string     `short:"H" sep:"none" placeholder:"'NAME: VALUE'" help:"A header of the request; may be repeated."`
	Data    string       `short:"d" placeholder:"BODY" help:"The body: JSON as it is, other text as a JSON string; @FILE reads a file, @- standard input. A file that is not text is sent as its bytes."`
	Tag     []string     `sep:"none" placeholder:"TAG" help:"A tag; may be repeated."`
	Options kong.Plugins `embed:""` // the flags of newFieldFlags
}

// whenFlags say when a job is due, or a schedule runs, in words.
type whenFlags struct {
	When string `placeholder:"WORDS" help:"When to make it, in plain words: in 10 seconds, tomorrow at 9:00, every weekday at 9:00 Europe/Berlin; or a cron expression. Default: now."`
	Zone string `default:"UTC" placeholder:"ZONE" help:"The time zone of times in --when without one, such as Europe/Berlin."`
}

// fields returns the fields of a create request, with timing in between.
func (c *requestFlags) fields(env *environment, timing []rawjson.Member) ([]rawjson.Member, error) {
	if c.File == "-" && c.Data == "@-" {
		return nil, failed(statusUsage, "--file and --data can't both read standard input")
	}
	members, err := readFields(env, c.File)
	if err != nil {
		return nil, err
	}
	body, err := c.data(env)
	if err != nil {
		return nil, err
	}
	options := fieldMembers(c.Options)
	if method := c.method(members, body != nil || hasField(options, "body_base64")); method != "" {
		members = setField(members, "method", rawjson.Quote(method))
	}
	if c.Target != "" {
		members = setField(members, "url", rawjson.Quote(c.Target))
	}
	headers, err := c.headers()
	if err != nil {
		return nil, err
	}
	if len(headers) > 0 {
		members = setField(members, "headers", rawjson.Object(headers))
	}
	if body != nil {
		members = append(withoutFields(members, "body", "body_base64"), *body)
	}
	if len(timing) > 0 {
		members = withoutFields(members, timingFields...)
	}
	members = append(members, timing...)
	if len(c.Tag) > 0 {
		members = setField(members, "tags", quotedList(c.Tag))
	}
	for _, m := range options {
		if m.Name == "body_base64" && body == nil {
			members = withoutFields(members, "body")
		}
		members = setField(members, m.Name, m.Value)
	}
	if !hasField(members, "url") && !hasField(members, "group") {
		return nil, failed(statusUsage, "give the url that the request goes to, or --file FILE with its fields")
	}
	return members, nil
}

// method returns the method to send; "" if it is not to be set.
func (c *requestFlags) method(members []rawjson.Member, body bool) string {
	switch {
	case c.Method != "":
		return c.Method
	case hasField(members, "method"):
		return ""
	case body || hasField(members, "body") || hasField(members, "body_base64"):
		return http.MethodPost
	}
	return http.MethodGet
}

// timingFields are the fields that say when.
var timingFields = []string{"schedule_in", "scheduled_at", "repeat_every", "cron", "timezone"}

// quotedList returns texts as a JSON array.
func quotedList[T ~string](texts []T) rawjson.Value {
	var all []rawjson.Value
	for _, text := range texts {
		all = append(all, rawjson.Quote(string(text)))
	}
	return rawjson.Array(all)
}

// timing returns the fields of --when; none if it was not given.
func (c *whenFlags) timing() ([]rawjson.Member, error) {
	zone, err := readZone(c.Zone)
	if err != nil || c.When == "" {
		return nil, err
	}
	timing, err := naturaltime.Parse(c.When, time.Now(), zone)
	if err != nil {
		return nil, failed(statusUsage, "--when %w", err)
	}
	return timing.Members(), nil
}

// readZone reads the value of --zone.
func readZone(name string) (*time.Location, error) {
	zone, err := schedule.LoadZone(name)
	if err != nil {
		return nil, failed(statusUsage, "--zone: there is no time zone %s; name one such as Europe/Berlin", name)
	}
	return zone, nil
}

// data returns the field with the request's body, or nil if there is none.
func (c *requestFlags) data(env *environment) (*rawjson.Member, error) {
	file, named := strings.CutPrefix(c.Data, "@")
	switch {
	case c.Data == "":
		return nil, nil
	case !named:
		return &rawjson.Member{Name: "body", Value: jsonOrText(c.Data)}, nil
	}
	b, err := readInput(env, file, maxInput)
	if err != nil {
		return nil, fmt.Errorf("reading the body: %w", err)
	}
	if !utf8.Valid(b) {
		return &rawjson.Member{Name: "body_base64", Value: rawjson.Quote(base64.StdEncoding.EncodeToString(b))}, nil
	}
	return &rawjson.Member{Name: "body", Value: jsonOrText(string(b))}, nil
}

// jsonOrText returns JSON unchanged and any other text as a JSON string. The service
// reports what is wrong with it.
func jsonOrText(text string) rawjson.Value {
	if v, err := rawjson.Read([]byte(text)); err == nil {
		return v
	}
	return rawjson.Quote(text)
}

// headers returns the request's headers; a repeated name has a list of values.
func (c *requestFlags) headers() ([]rawjson.Member, error) {
	var names []string
	values := map[string][]rawjson.Value{}
	for _, header := range c.Header {
		name, value, err := splitHeader(header)
		if err != nil {
			return nil, err
		}
		if values[name] == nil {
			names = append(names, name)
		}
		values[name] = append(values[name], rawjson.Quote(value))
	}
	var members []rawjson.Member
	for _, name := range names {
		value := values[name][0]
		if len(values[name]) > 1 {
			value = rawjson.Array(values[name])
		}
		members = append(members, rawjson.Member{Name: name, Value: value})
	}
	return members, nil
}

// splitHeader splits the value of --header.
func splitHeader(header string) (name, value string, err error) {
	name, value, ok := strings.Cut(header, ":")
	if name = strings.TrimSpace(name); !ok || name == "" {
		return "", "", failed(statusUsage, "--header must be like 'Name: value', not %q", header)
	}
	return name, strings.TrimSpace(value), nil
}
