package cli

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/punctual-dev/punctual/internal/app"
	"github.com/punctual-dev/punctual/internal/auth"
	"github.com/punctual-dev/punctual/internal/buildinfo"
	"github.com/punctual-dev/punctual/internal/execute"
	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/network"
	"github.com/punctual-dev/punctual/internal/secret"
	"github.com/punctual-dev/punctual/internal/store"
	"github.com/punctual-dev/punctual/internal/virtual"
)

// The account that punctual dev has, with its key and password. The service listens on
// this machine only, so they need to be no secrets.
const (
	devEmail    = "dev@example.com"
	devPassword = "punctual-dev"
	devKey      = auth.KeyPrefix + "dev_0000000000000000000000000000000000"
)

type devCommand struct {
	Keep         string    `placeholder:"DIR" help:"Keep the database and the key file in a folder, which is created if needed. Default: a temporary one, removed at the end."`
	Listen       string    `default:"127.0.0.1:8080" placeholder:"ADDR" help:"Address to serve on, of this machine only; port 0 picks a free one."`
	GoogleListen string    `default:"127.0.0.1:8123" placeholder:"ADDR" help:"Address of the Cloud Tasks and Cloud Scheduler APIs, of this machine only; port 0 picks a free one."`
	AppEngineURL origin    `name:"app-engine-url" placeholder:"URL" help:"Where App Engine targets are: a scheme and a host. Default: such targets are refused."`
	LogLevel     level     `default:"warn" placeholder:"LEVEL" help:"Lowest level to log to standard error: debug, info, warn or error."`
	LogFormat    logFormat `placeholder:"FORMAT" help:"Log format: json or text. Default: text at a terminal, JSON elsewhere."`
}

// Run serves every API on this machine until the context ends.
func (c *devCommand) Run(env *environment) (err error) {
	for _, address := range []*string{&c.Listen, &c.GoogleListen} {
		if *address, err = loopbackAddress(*address); err != nil {
			return err
		}
	}
	dir, remove, err := c.folder()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, remove()) }()
	keys := filepath.Join(dir, "secrets.key")
	if err := writeOnce(keys, secret.NewKey()+"\n"); err != nil {
		return err
	}
	database := "sqlite:" + filepath.Join(dir, "punctual.db")
	here := &url.URL{Scheme: "http", Host: c.Listen}
	v, err := c.prepare(env, database, keys, here.String())
	if err != nil {
		return err
	}
	ports, err := execute.ParsePorts("1-65535")
	if err != nil {
		return err
	}
	return app.Run(env.ctx, app.Config{
		Listen: c.Listen, GoogleListen: c.GoogleListen, GoogleKey: devKey, AppEngineURL: c.AppEngineURL.URL, DatabaseURL: database,
		SecretsKeyFile: keys, PublicURL: here,
		AllowPrivateTargets: true, AllowHTTPTargets: true, TargetPorts: ports, Concurrency: 1000, Retention: 30 * 24 * time.Hour,
		Signup: auth.SignupClosed, TrustedProxies: network.Loopback, Version: buildinfo.Read().Version,
		Log:       logger(env.errOut, c.LogLevel, c.LogFormat),
		Listening: func(string) { _ = v.print(env.out) },
		Clock:     &virtual.Clock{},
	})
}

// loopbackAddress returns an address of this machine with a port.
func loopbackAddress(address string) (string, error) {
	host, port, err := net.SplitHostPort(address)
	if ip := net.ParseIP(host); err != nil || host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return "", fmt.Errorf("%q is not an address of this machine only, as in 127.0.0.1:8080; use punctual serve to serve others",
			address)
	}
	if port != "0" {
		return address, nil
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return "", fmt.Errorf("%q can't be used: %w", address, err)
	}
	address = l.Addr().String()
	return address, l.Close()
}

// folder returns the folder of the database, and what removes it at the end.
func (c *devCommand) folder() (dir string, remove func() error, err error) {
	if c.Keep == "" {
		dir, err = os.MkdirTemp("", "punctual-dev-")
		return dir, func() error { return os.RemoveAll(dir) }, err
	}
	if err := os.MkdirAll(c.Keep, 0o700); err != nil {
		return "", nil, fmt.Errorf("--keep %s can't be used: %w", c.Keep, err)
	}
	return c.Keep, func() error { return nil }, nil
}

// writeOnce writes a file unless it exists.
func writeOnce(path, text string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, os.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

// devView is what programs need.
type devView struct {
	url, google string
	qstash      qstashView
}

// prepare makes the account with its key.
func (c *devCommand) prepare(env *environment, database, keyFile, here string) (v devView, err error) {
	s, err := app.OpenSealed(env.ctx, database, keyFile, env.awaitingStore)
	if err != nil {
		return v, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	ctx := context.WithoutCancel(env.ctx)
	a, err := auth.AccountByEmail(ctx, s, devEmail)
	if fault.CodeOf(err) == fault.NotFound && err != nil {
		a, err = auth.CreateAccount(ctx, s, devEmail, s.Now())
	}
	if err != nil {
		return v, err
	}
	if err := signsIn(ctx, s); err != nil {
		return v, err
	}
	if err := auth.EnsureKey(ctx, s, a.Number, devKey, "dev", s.Now()); err != nil {
		return v, err
	}
	keys, err := auth.ReadTokenKeys(ctx, s, a.Number)
	if err != nil {
		return v, err
	}
	token, err := json.Marshal(struct{ UserID, Password string }{a.ID.String(), devKey})
	if err != nil {
		return v, err
	}
	return devView{here, c.GoogleListen, qstashView{here, base64.StdEncoding.EncodeToString(token), keys.Current, keys.Next}}, nil
}

// signsIn lets the account's person sign in to the dashboard. A password that they chose
// in a database that is kept stays.
func signsIn(ctx context.Context, s store.Store) error {
	person, err := auth.PersonByEmail(ctx, s, devEmail)
	if err != nil || person.Password != "" {
		return err
	}
	return auth.SetPassword(ctx, s, person, devPassword)
}

func (v devView) print(out io.Writer) error {
	_, err := fmt.Fprintf(out, `export PUNCTUAL_URL='%s'
export PUNCTUAL_API_KEY='%s'
`, v.url, devKey)
	if err == nil {
		err = v.qstash.print(out)
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, `export CLOUD_TASKS_EMULATOR_HOST='%[1]s'
export CLOUD_SCHEDULER_EMULATOR_HOST='%[1]s'

Cloud Tasks and Cloud Scheduler: plain gRPC, which needs no key here, or REST at
http://%[1]s with authorization: Bearer %[2]s
  Go       option.WithEndpoint("%[1]s"), option.WithoutAuthentication(),
           option.WithGRPCDialOption(grpc.WithTransportCredentials(insecure.NewCredentials()))
  Node.js  {apiEndpoint: '%[3]s', port: %[4]s, sslCreds: grpc.credentials.createInsecure()}

Dashboard: %[5]s/sign-in as %[6]s with the password %[7]s

listening on %[5]s
`, v.google, devKey, hostOf(v.google), portOf(v.google), v.url, devEmail, devPassword)
	return err
}

func hostOf(address string) string {
	host, _, _ := net.SplitHostPort(address)
	return host
}

func portOf(address string) string {
	_, port, _ := net.SplitHostPort(address)
	return port
}
