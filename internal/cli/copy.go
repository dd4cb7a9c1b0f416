package cli

import (
	"errors"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/punctual-dev/punctual/internal/app"
	"github.com/punctual-dev/punctual/internal/copydb"
)

type copyCommand struct {
	From string `required:"" placeholder:"URL" help:"The database to copy: sqlite:PATH or postgres://USER:PASSWORD@HOST/DATABASE. No punctual may be running on it."`
	To   string `required:"" placeholder:"URL" help:"An empty database to copy to, or one that holds an interrupted copy."`
	JSON bool   `name:"json" type:"switch" help:"Print JSON."`
}

// copyView is what the command prints as JSON.
type copyView struct {
	Records map[string]int64 `json:"records"` // by kind
	Resumed bool             `json:"resumed"` // an interrupted copy was resumed
	Seconds float64          `json:"seconds"`
}

// Run copies everything from one database to another.
func (c *copyCommand) Run(env *environment) error {
	start := time.Now()
	shown := &copyProgress{out: env.errOut, live: isTerminal(env.errOut), now: time.Now}
	result, err := app.Copy(env.ctx, app.CopyConfig{From: c.From, To: c.To, Progress: shown.show, Waiting: env.awaitingStore})
	shown.end()
	if err != nil {
		// The whole message, which says how to continue, not only the fault.
		return errors.New(err.Error())
	}
	took := time.Since(start)
	if c.JSON {
		view := copyView{Records: map[string]int64{}, Resumed: result.Resumed, Seconds: took.Seconds()}
		for _, count := range result.Counts {
			view.Records[count.Section] = count.Records
		}
		return printJSON(env.out, view)
	}
	return printCopied(env.out, result, took)
}

func printCopied(out io.Writer, result *copydb.Result, took time.Duration) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	for _, count := range result.Counts {
		_, _ = fmt.Fprintf(w, "%d\t %s\n", count.Records, count.Section)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(out, "\nEverything is copied and compared, in %.1f s. Start the service on the copy now; don't start it on the source again.\n", took.Seconds())
	return err
}

const (
	// liveEvery and lineEvery are how often progress is shown at a terminal and
	// elsewhere.
	liveEvery = 100 * time.Millisecond
	lineEvery = 10 * time.Second
)

// copyProgress shows how far a copy has come: on one live line at a terminal,
// else on a line for each section, and further ones when it takes long.
type copyProgress struct {
	out   io.Writer
	live  bool
	now   func() time.Time
	last  copydb.Progress
	shown time.Time
	dirty bool // last has not been written, or may be overwritten
}

func (p *copyProgress) show(now copydb.Progress) {
	if now.Section != p.last.Section || now.Checking != p.last.Checking {
		p.end()
	}
	p.last, p.dirty = now, true
	every := lineEvery
	if p.live {
		every = liveEvery
	}
	switch {
	case p.shown.IsZero() && !p.live:
		p.shown = p.now() // the first line after a while
	case p.now().Sub(p.shown) >= every:
		p.write()
	}
}

// end writes the last line of a section.
func (p *copyProgress) end() {
	if !p.dirty {
		return
	}
	p.write()
	if p.live {
		_, _ = fmt.Fprintln(p.out)
	}
	p.dirty = false
}

func (p *copyProgress) write() {
	p.shown = p.now()
	line := fmt.Sprintf("%d %s copied", p.last.Records, p.last.Section)
	if p.last.Checking {
		line = fmt.Sprintf("%d %s compared", p.last.Records, p.last.Section)
	}
	if p.live {
		line = "\r\x1b[K" + line // overwrites the previous line
	} else {
		line += "\n"
	}
	p.dirty = p.live
	_, _ = io.WriteString(p.out, line) // progress is best effort
}
