package cli

import (
	"io"

	"github.com/punctual-dev/punctual/internal/buildinfo"
	"github.com/punctual-dev/punctual/internal/mcp"
)

type mcpCommand struct {
	serviceFlags
	LogLevel  level     `setting:"" default:"warn" placeholder:"LEVEL" help:"Lowest level to log to standard error: debug, info, warn or error."`
	LogFormat logFormat `setting:"" placeholder:"FORMAT" help:"Log format: json or text. Default: text at a terminal, JSON elsewhere."`
}

// Run serves one client until standard input ends.
func (c *mcpCommand) Run(env *environment) error {
	s, err := c.session(env)
	if err != nil {
		return err
	}
	version := buildinfo.Read().Version
	api, err := mcp.Remote(s.url, s.key, version)
	if err != nil {
		return err
	}
	server := mcp.New(mcp.Config{Version: version, Log: logger(env.errOut, c.LogLevel, c.LogFormat)})
	return server.RunStdio(env.ctx, api, s.key, io.NopCloser(env.in), nopCloser{env.out})
}

// nopCloser leaves standard output open.
type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }
