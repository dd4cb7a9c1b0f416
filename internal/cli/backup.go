package cli

import (
	"fmt"
	"time"

	"github.com/punctual-dev/punctual/internal/app"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/store/sqlite"
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
	Backup  string `arg:"" placeholder:"BACKUP" help:"A file that punctual backup wrote, or another copy of a database."`
	NextJob int64  `name:"next-job" placeholder:"NUMBER" help:"The number of the next job. Default: above all that may have been assigned since the backup."`
	JSON    bool   `name:"json" type:"switch" help:"Print JSON."`
}

// Run creates a database from a backup.
func (c *restoreCommand) Run(env *environment) error {
	result, err := app.Restore(env.ctx, c.Backup, c.DatabaseURL, c.NextJob)
	if err != nil {
		return err
	}
	if c.JSON {
		return printJSON(env.out, struct {
			Bytes   int64     `json:"bytes"`
			MadeAt  time.Time `json:"made_at"`
			LastJob int64     `json:"last_job"`
			NextJob int64     `json:"next_job"`
			Skipped string    `json:"skipped"`
		}{result.Bytes, result.At, result.LastJob, result.NextJob, string(result.Skipped)})
	}
	_, err = fmt.Fprintf(env.out, "restored the state of %s, %d bytes\nthe last job was %d, the next one will be %d: %s\n",
		job.FormatTime(result.At), result.Bytes, result.LastJob, result.NextJob, skippedBecause[result.Skipped])
	return err
}

// skippedBecause says why a restore skipped job numbers.
var skippedBecause = map[sqlite.Skipped]string{
	sqlite.SkippedGiven:     "as given",
	sqlite.SkippedKnown:     "the numbers file beside the database says that none above was used",
	sqlite.SkippedEstimated: "estimated from the busiest hour and the age of the backup, because there is no numbers file of this database here",
}
