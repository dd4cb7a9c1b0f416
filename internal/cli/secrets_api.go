package cli

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/punctual-dev/punctual/internal/rawjson"
)

// secretView is a secret as the API shows it, without its value.
type secretView struct {
	Name    string   `json:"name"`
	Hosts   []string `json:"hosts"`
	HTTP    bool     `json:"http"`
	Updated string   `json:"updated_at"`
}

func (s *secretView) id() string { return s.Name }

func secretPath(name string) string { return "/api/secrets/" + url.PathEscape(name) }

type secretsList struct {
	serviceFlags
	listFlags
}

// Run lists secrets.
func (c *secretsList) Run(env *environment) error {
	records, err := c.list(env, "/api/secrets", url.Values{}, c.Limit)
	columns := []column{{title: "NAME"}, {title: "HOSTS", shrink: true}, {title: "UPDATED"}}
	return printAll(&c.displayFlags, env, records, err, (*secretView).id, "there are no secrets; store one with punctual secrets set", columns,
		func(to terminal, s *secretView) []string {
			return []string{s.Name, strings.Join(s.Hosts, ", "), to.moment(s.Updated)}
		})
}

type secretsSet struct {
	serviceFlags
	Name string   `arg:"" help:"The secret's name, as in {{secret.NAME}}."`
	Host []string `placeholder:"HOST" help:"A host name that may receive the secret; may be repeated. Default: those it has."`
	HTTP bool     `help:"Targets of http may receive the secret, too. Anybody on the way to them can read it."`
	File string   `short:"f" placeholder:"FILE" help:"A JSON or YAML file with fields of the API, for OAuth2 client credentials; - for standard input."`
}

// Run stores a secret. Without a file its value is typed without echo, or is the
// first line of standard input: a command line can be seen by others.
func (c *secretsSet) Run(env *environment) error {
	members, err := readFields(env, c.File)
	if err != nil {
		return err
	}
	hosts := c.Host
	if len(hosts) == 0 && !hasField(members, "hosts") {
		known, err := c.known(env)
		if err != nil {
			return err
		}
		hosts, c.HTTP = known.Hosts, c.HTTP || known.HTTP && !hasField(members, "http")
	}
	if len(hosts) > 0 {
		members = setField(members, "hosts", quotedList(hosts))
	}
	if c.HTTP {
		members = setField(members, "http", rawjson.Value(`true`))
	}
	if c.File == "" {
		value, err := readHidden(env, "Value of "+c.Name+" (not shown): ")
		if err != nil {
			return err
		}
		if value == "" {
			return failed(statusUsage, "the value is missing: type it, or pass it on standard input")
		}
		members = setField(members, "value", rawjson.Quote(value))
	}
	record, err := c.record(env, http.MethodPut, secretPath(c.Name), rawjson.Object(members))
	return printOne(&c.displayFlags, env, record, err, (*secretView).id, func(s *secretView) error {
		return c.say(env, "secret %s is stored; headers use it as {{secret.%[1]s}}, sent to %s only", printable(s.Name), printable(strings.Join(s.Hosts, ", ")))
	})
}

// known returns the secret, which must exist.
func (c *secretsSet) known(env *environment) (*secretView, error) {
	record, err := c.record(env, http.MethodGet, secretPath(c.Name), nil)
	if exitStatus(err) == statusNotFound {
		return nil, failed(statusUsage, "say with --host which host names may receive the secret")
	}
	if err != nil {
		return nil, err
	}
	s, err := decoded[secretView](record)
	return &s, err
}

type secretsDelete struct {
	serviceFlags
	Names []string `arg:"" name:"name" help:"The secrets' names."`
}

// Run deletes secrets.
func (c *secretsDelete) Run(env *environment) error {
	return c.deleteAll(env, "secret", c.Names, secretPath)
}
