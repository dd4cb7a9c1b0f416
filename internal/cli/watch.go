package cli

import (
	"fmt"
	"net/http"
	"os"
	"time"

	"github.com/punctual-dev/punctual/client"
)

// waitFlags say whether a command waits for the end of the job that it starts.
type waitFlags struct {
	Wait    bool          `short:"w" type:"switch" help:"Wait until the job is final and show its progress. The exit status tells the outcome."`
	WaitFor time.Duration `placeholder:"TIME" help:"Wait no longer than this, such as 90s or 10m; then the exit status is 8."`
}

func (f *waitFlags) waits() bool { return f.Wait || f.WaitFor > 0 }

type jobsWatch struct {
	serviceFlags
	ID      string        `arg:"" name:"id" help:"The job's number or id, or key:KEY."`
	WaitFor time.Duration `placeholder:"TIME" help:"Wait no longer than this, such as 90s or 10m; then the exit status is 8."`
}

// Run shows the progress of a job until it is final.
func (c *jobsWatch) Run(env *environment) error {
	return c.await(env, c.ID, c.WaitFor, true)
}

// The pauses between two reads of a watched job: they grow from the first to the
// longest, which applies to jobs that are due later.
const (
	firstPause   = 200 * time.Millisecond
	longPause    = 2 * time.Second
	longestPause = 5 * time.Second
	// patience is how long a service may be away while a job is watched.
	patience = time.Minute
)

// await shows the progress of a job until it is final or a time is over (0 for no
// end) and returns an error unless it is completed. show says whether to print how
// it ended.
func (c *serviceFlags) await(env *environment, id string, within time.Duration, show bool) error {
	var until, lost <-chan time.Time
	if within > 0 {
		timer := time.NewTimer(within)
		defer timer.Stop()
		until = timer.C
	}
	line := c.progressLine(env)
	defer line.end()
	for pause := firstPause; ; pause = min(pause*3/2, longPause) {
		d, err := c.details(env, id)
		switch status := exitStatus(err); {
		case err == nil:
			lost = nil
			if d.Job.Job.Final() {
				line.end()
				return c.ended(env, d, show)
			}
			id = jobNumber(&d.Job) // a key may name another job later
			line.show(jobProgress(d, c.terminal(env)))
		case env.ctx.Err() != nil:
			return goesOn(id)
		case status != statusUnreachable && status != statusTooMany || line.last == "":
			return err
		default:
			if lost == nil {
				lost = time.After(patience)
			}
			line.show("no response for job " + id + "; trying again: " + sentence(err))
			pause = longPause
		}
		if d != nil && ahead(d) > longestPause {
			pause = longestPause
		}
		select {
		case <-env.ctx.Done():
			return goesOn(id)
		case <-until:
			return failed(statusUndecided, "job %s is not final after %s; punctual jobs watch %[1]s goes on watching", printable(id),
				within)
		case <-lost:
			return err
		case <-time.After(pause):
		}
	}
}

// goesOn is the error of an interrupt while a job is watched.
func goesOn(id string) error {
	return failed(statusInterrupted, "no longer watching job %s, which goes on; punctual jobs cancel %[1]s cancels it", printable(id))
}

// ahead returns how far ahead the next attempt is.
func ahead(d *client.JobDetails) time.Duration {
	if d.NextAttemptAt == nil {
		return 0
	}
	return time.Until(d.NextAttemptAt.Time)
}

// ended prints a job that is final and returns an error unless it is completed.
func (c *serviceFlags) ended(env *environment, d *client.JobDetails, show bool) error {
	text := jobProgress(d, c.terminal(env))
	var err error
	switch {
	case c.JSON:
		var record []byte
		record, err = c.record(env, http.MethodGet, jobPath(jobNumber(&d.Job)), nil)
		err = c.print(env, record, err)
	case show && c.Quiet:
		err = printIDs(env, []client.JobRecord{d.Job}, jobNumber)
	case show && d.Job.Job.State == client.Completed:
		err = c.say(env, "%s", text)
	}
	if err == nil && d.Job.Job.State != client.Completed {
		err = failed(statusFailed, "%s", text)
	}
	return err
}

// progressLine shows progress on standard error: at a terminal in one line that
// changes, otherwise in a line for each change.
type progressLine struct {
	env    *environment
	silent bool
	one    int // the width of the line; 0 for lines
	last   string
}

func (c *displayFlags) progressLine(env *environment) *progressLine {
	line := &progressLine{env: env, silent: c.JSON || c.Quiet}
	if t := terminalOf(env.errOut); t.interactive && os.Getenv("TERM") != "dumb" {
		line.one = t.width
	}
	return line
}

// show shows text if it has changed.
func (l *progressLine) show(text string) {
	if text == l.last {
		return
	}
	l.last = text
	switch {
	case l.silent:
	case l.one > 0:
		_, _ = fmt.Fprint(l.env.errOut, "\r\x1b[K"+fit(text, l.one-1))
	default:
		_, _ = fmt.Fprintln(l.env.errOut, text)
	}
}

// end removes the line that changes, so that others can follow.
func (l *progressLine) end() {
	if !l.silent && l.one > 0 && l.last != "" {
		_, _ = fmt.Fprint(l.env.errOut, "\r\x1b[K")
	}
	l.last = ""
}
