package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"time"
)

// bench is what all workloads share.
type bench struct {
	Config
	progress      *progress
	directory     string
	authority     *authority
	authorityFile string
	target        *target // on one address, where most jobs go
	load          *load
	several       bool // this machine has many loopback addresses
	numbers       atomic.Int64
	databases     int
	pace          float64            // jobs that were created a second, when last measured
	known         map[string]float64 // medians, by workload and figure
	costs         [][]Figure         // of a job, for each herd
	lost          error              // what keeps the output from being written
}

// Run measures. The error says what was not as promised, or what kept the bench
// from going on; ctx ends it early, in order.
func Run(ctx context.Context, c Config) (err error) {
	if err := c.Validate(); err != nil {
		return err
	}
	b := &bench{Config: c, progress: newProgress(c.ErrOut, c.Terminal), known: map[string]float64{}}
	defer b.progress.close()
	if b.directory, err = os.MkdirTemp("", "punctual-bench-"); err != nil {
		return fmt.Errorf("the bench needs a place for its files; let TMPDIR name a directory that can be written to: %w", err)
	}
	defer func() {
		if failed := os.RemoveAll(b.directory); failed != nil {
			err = errors.Join(err, fmt.Errorf("the bench's files can't be removed; remove them by hand: %w", failed))
		}
	}()
	if err := b.open(); err != nil {
		return err
	}
	defer b.target.close()
	if b.load, err = b.startLoad(ctx); err != nil {
		return err
	}
	defer b.load.kill()
	report, err := b.measure(ctx)
	if ctx.Err() != nil {
		return errors.New("the bench was interrupted; what it started has stopped and its files are gone")
	}
	if err != nil {
		return err
	}
	return b.conclude(report)
}

// open starts the target and has its authority written down for the service.
func (b *bench) open() (err error) {
	if b.AuthorityFile != "" {
		b.authority, err = authorityIn(b.AuthorityFile)
	} else {
		b.authority, err = newAuthority()
	}
	if err != nil {
		return err
	}
	b.authorityFile = filepath.Join(b.directory, "authority.pem")
	if err := os.WriteFile(b.authorityFile, b.authority.pem(), 0o600); err != nil {
		return fmt.Errorf("the bench can't write its files: %w", err)
	}
	b.several = manyAddresses()
	b.target, err = startTarget(b.authority, b.Sizes.HTTP2, "127.0.0.1")
	return err
}

// measure goes through the workloads.
func (b *bench) measure(ctx context.Context) (*Report, error) {
	chosen := b.chosen()
	report := &Report{
		Punctual: b.Version, Go: runtime.Version(), Date: time.Now().UTC().Truncate(time.Second), Machine: describeMachine(b.directory),
		Settings: Settings{
			Runs: b.Runs, Sizes: b.Sizes, Counts: b.Sizes.counts(), Store: b.storeName(), LeadSeconds: b.Sizes.lead().Seconds(),
			BodyBytes: bodyBytes,
		},
		Problems: []string{},
	}
	for _, w := range chosen {
		report.Settings.Workloads = append(report.Settings.Workloads, w.name)
	}
	b.print(heading(report))
	if b.BaseURL != "" {
		if err := b.tryService(ctx); err != nil {
			return report, err
		}
	}
	b.print(tableHead())
	for _, w := range chosen {
		if b.lost != nil {
			return report, b.lost
		}
		row := b.repeat(ctx, w)
		if ctx.Err() != nil {
			return report, ctx.Err()
		}
		report.Workloads = append(report.Workloads, row)
		report.Problems = append(report.Problems, problemsOf(row)...)
		b.print(tableRows(row))
	}
	return report, nil
}

// repeat runs a workload as often as asked.
func (b *bench) repeat(ctx context.Context, w workload) *WorkloadRow {
	row := &WorkloadRow{Name: w.name, About: w.about, Skipped: b.skips(w), Figures: []Figure{}, Latencies: []Curve{}, Runs: []Result{}}
	if row.Skipped != "" {
		return row
	}
	for i := range b.Runs {
		t := &trial{bench: b, workload: w.name, run: i, target: b.target, result: Result{Figures: []Figure{}, Latencies: []Curve{}}}
		err := w.run(ctx, t)
		err = errors.Join(err, t.end(ctx))
		if err != nil {
			t.problem("%s", err)
		}
		row.Runs = append(row.Runs, t.result)
		if err != nil {
			break
		}
	}
	b.progress.clear()
	row.summarise(b.known)
	return row
}

func problemsOf(row *WorkloadRow) (problems []string) {
	for _, run := range row.Runs {
		for _, p := range run.Problems {
			problems = append(problems, row.Name+": "+p)
		}
	}
	return problems
}

// conclude draws the plot, writes the files and says what was wrong.
func (b *bench) conclude(report *Report) error {
	b.print(textPlot(report.curves()))
	b.print(afterword(report))
	failed := b.lost
	if b.JSON != "" {
		failed = errors.Join(failed, report.writeJSON(b.JSON))
	}
	if b.SVG != "" {
		failed = errors.Join(failed, writeFile("--svg", b.SVG, []byte(svgPlot(report))))
	}
	if len(report.Problems) > 0 {
		failed = errors.Join(failed, fmt.Errorf("not all was as promised: %s", strings.Join(report.Problems, "; ")))
	}
	return failed
}

// print writes a part of the table. Once that fails, nobody reads it any more.
func (b *bench) print(text string) {
	b.progress.clear()
	if _, err := fmt.Fprint(b.Out, text); err != nil && b.lost == nil {
		b.lost = fmt.Errorf("the output can't be written: %w", err)
	}
}

func (b *bench) storeName() string {
	if b.BaseURL != "" {
		return "that of the running service"
	}
	if b.DatabaseURL == "" {
		return "sqlite"
	}
	name, _, _ := strings.Cut(b.DatabaseURL, ":") // what follows may hold a password
	return name
}

// mark returns what is aimed at with the store in use.
func (b *bench) mark(sqlite, postgres string) string {
	if strings.HasPrefix(b.storeName(), "postgres") {
		return postgres
	}
	return sqlite
}
