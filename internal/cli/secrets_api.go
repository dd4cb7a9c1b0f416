package cli

import (
	"cmp"
	"net/http"
	"net/url"
	"strings"

	"github.com/punctual-dev/punctual/client"
	"github.com/punctual-dev/punctual/internal/rawjson"
)

func secretName(s *client.HeaderSecret) string { return s.Name }

func secretPath(name string) string { return "/api/secrets/" + url.PathEscape(name) }

type secretsList struct {
	serviceFlags
	listFlags
}

// Run lists secrets.
func (c *secretsList) Run(env *environment) error {
	records, err := c.list(env, "/api/secrets", url.Values{}, c.Limit)
	columns := []column{{title: "NAME"}, {title: "KIND"}, {title: "HOSTS", shrink: true}, {title: "UPDATED"}}
	return listing[client.HeaderSecret]{
		id:      secretName,
		none:    "there are no secrets; store one with punctual secrets set",
		columns: columns,
		row: func(to terminal, s *client.HeaderSecret) []string {
			return []string{s.Name, cmp.Or(s.Kind, "value"), strings.Join(s.Hosts, ", "), to.moment(s.UpdatedAt)}
		},
	}.print(&c.displayFlags, env, records, err)
}

type secretsSet struct {
	serviceFlags
	Name string   `arg:"" help:"The secret's name, as in {{secret.NAME}}."`
	Host []string `placeholder:"HOST" help:"A host name that may receive the secret; may be repeated. Default: those it has."`
	HTTP bool     `help:"Targets of http may receive the secret, too. Anybody on the way to them can read it."`
	File string   `short:"f" placeholder:"FILE" help:"A JSON or YAML file with fields of the API, for OAuth2 client credentials or an access key of AWS; - for standard input."`

	CertificateFile string `placeholder:"FILE" help:"A PEM file with a client certificate, followed by its chain."`
	PrivateKeyFile  string `placeholder:"FILE" help:"A PEM file with the private key of --certificate-file."`
	AccessKeyID     string `name:"access-key-id" placeholder:"ID" help:"The id of an access key of AWS. Its secret is typed, or read from standard input."`
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
	if members, err = c.content(env, members); err != nil {
		return err
	}
	record, err := c.record(env, http.MethodPut, secretPath(c.Name), rawjson.Object(members))
	return printOne(&c.displayFlags, env, record, err, secretName, func(s *client.HeaderSecret) error {
		use := "headers use it as {{secret." + s.Name + "}}"
		switch s.Kind {
		case "certificate":
			use = `jobs use it with --auth '{"mtls": "` + s.Name + `"}'`
		case "access_key":
			use = `jobs use it with --auth '{"aws": {"secret": "` + s.Name + `", "service": …, "region": …}}'`
		}
		return c.say(env, "secret %s is stored; %s, sent to %s only", printable(s.Name), printable(use),
			printable(strings.Join(s.Hosts, ", ")))
	})
}

// content adds what the secret consists of: files with a certificate and its key, or a
// value or the secret of an access key, which is typed.
func (c *secretsSet) content(env *environment, members []rawjson.Member) ([]rawjson.Member, error) {
	if (c.CertificateFile == "") != (c.PrivateKeyFile == "") {
		return nil, failed(statusUsage, "give both --certificate-file and --private-key-file")
	}
	if c.CertificateFile != "" {
		for name, file := range map[string]string{"certificate": c.CertificateFile, "private_key": c.PrivateKeyFile} {
			text, err := readInput(env, file, maxSecrets)
			if err != nil {
				return nil, err
			}
			members = setField(members, name, rawjson.Quote(string(text)))
		}
		return members, nil
	}
	field, prompt := "value", "Value of "+c.Name
	if c.AccessKeyID != "" {
		members = setField(members, "access_key_id", rawjson.Quote(c.AccessKeyID))
		field, prompt = "secret_access_key", "Secret access key of "+c.AccessKeyID
	}
	if c.File != "" {
		return members, nil
	}
	value, err := readHidden(env, prompt+" (not shown): ")
	if err != nil {
		return nil, err
	}
	if value == "" {
		return nil, failed(statusUsage, "the value is missing: type it, or pass it on standard input")
	}
	return setField(members, field, rawjson.Quote(value)), nil
}

// known returns the secret, which must exist.
func (c *secretsSet) known(env *environment) (*client.HeaderSecret, error) {
	record, err := c.record(env, http.MethodGet, secretPath(c.Name), nil)
	if exitStatus(err) == statusNotFound {
		return nil, failed(statusUsage, "say with --host which host names may receive the secret")
	}
	if err != nil {
		return nil, err
	}
	s, err := decoded[client.HeaderSecret](record)
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
