package cli

import (
	"fmt"

	"github.com/punctual-dev/punctual/internal/buildinfo"
)

type versionCommand struct {
	JSON bool `name:"json" type:"switch" help:"Print JSON: version, commit, date, go, os and arch."`
}

// Run prints the version.
func (c *versionCommand) Run(env *environment) error {
	info := buildinfo.Read()
	if c.JSON {
		return printJSON(env.out, info)
	}
	_, err := fmt.Fprintln(env.out, "punctual", info.Version)
	return err
}
