package cli

import (
	"fmt"
	"time"

	"github.com/punctual-dev/punctual/internal/app"
	"github.com/punctual-dev/punctual/internal/job"
)

type backupCommand struct {
	databaseFlag
	Path string `arg:"" placeholder:"PATH" help:"The file to write; it must not exist."`
	JSON bool   `name:"json" type:"switch" help:"Print JSON."`
}

// Run copies the database while the service may be running.
func (c *backupCommand) Run(env *environment) error {
	result, err := app.Backup(env.ctx, c.DatabaseURL, c.Path)
	if err != nil {
		return err
	}
	if c.JSON {
		return printJSON(env.out, struct {
			Path   string    `json:"path"`
			Bytes  int64     `json:"bytes"`
			MadeAt time.Time `json:"made_at"`
		}{c.Path, result.Bytes, result.At})
	}
	_, err = fmt.Fprintf(env.out, "wrote %s, %d bytes\n", c.Path, result.Bytes)
	return err
}

type restoreCommand struct {
	databaseFlag
	Backup string `arg:"" placeholder:"BACKUP" help:"A file that punctual backup wrote, or another copy of a database."`
	JSON   bool   `name:"json" type:"switch" help:"Print JSON."`
}

// Run creates a database from a backup.
func (c *restoreCommand) Run(env *environment) error {
	result, err := app.Restore(env.ctx, c.Backup, c.DatabaseURL)
	if err != nil {
		return err
	}
	if c.JSON {
		return printJSON(env.out, struct {
			Bytes   int64     `json:"bytes"`
			MadeAt  time.Time `json:"made_at"`
			LastJob int64     `json:"last_job"`
			NextJob int64     `json:"next_job"`
		}{result.Bytes, result.At, result.LastJob, result.NextJob + 1})
	}
	_, err = fmt.Fprintf(env.out, "restored the state of %s, %d bytes; the last job was %d, the next one will be %d\n",
		job.FormatTime(result.At), result.Bytes, result.LastJob, result.NextJob+1)
	return err
}
