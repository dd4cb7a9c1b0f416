package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"time"
)

// Config of a demo.
type Config struct {
	Out      io.Writer // what a person reads
	ErrOut   io.Writer // the service's errors, if there are any
	Terminal bool      // Out is a terminal, so that a live line can be shown
	Color    bool
	Zone     *time.Location // whose clock times are shown by
	Version  string
	Command  string // how this program is called, for the hints at the end
}

const (
	// starting is how long the service may take to start, which takes a busy machine
	// seconds. patience is how long runs are awaited then. Without trouble it takes
	// fourteen seconds; what is left of the half minute is for reading and stopping.
	starting = 20 * time.Second
	patience = 20 * time.Second
	// reading bounds how long what is stored is read for.
	reading = 3 * time.Second
)

// Run shows the service at work. The error says what was not as promised, or
// what kept the demo from being shown; ctx ends it early, in order.
func Run(ctx context.Context, c Config) error {
	p := &printer{out: c.Out, terminal: c.Terminal, color: c.Color, zone: c.Zone}
	p.heading()
	e, err := perform(ctx, c, p)
	if err != nil {
		return err
	}
	p.summary(e)
	if broken := verdict(e); len(broken) > 0 {
		return fmt.Errorf("not all was as promised: %s", strings.Join(broken, "; "))
	}
	p.closing(c.Command)
	return p.failed()
}

// perform starts everything, follows the runs, reads what is stored and takes
// everything apart again.
func perform(ctx context.Context, c Config, p *printer) (e *evidence, err error) {
	began := time.Now()
	log := slog.New(slog.NewTextHandler(p.aside(c.ErrOut), &slog.HandlerOptions{Level: slog.LevelError}))
	started, end := context.WithTimeout(ctx, starting)
	defer end()
	s, err := startService(started, c.Version, log)
	if err == nil {
		awaiting, end := context.WithTimeout(ctx, patience)
		defer end()
		e, err = follow(ctx, awaiting, s, p, began)
	}
	p.clear()
	closing := s.close()
	if ctx.Err() != nil && closing == nil {
		return nil, errors.New("the demo was interrupted; the service has stopped and its files are gone")
	}
	return e, errors.Join(err, closing)
}

// follow shows the runs until awaiting ends, and then reads what is stored.
func follow(ctx, awaiting context.Context, s *service, p *printer, began time.Time) (*evidence, error) {
	// The demo ends with its service, and when nobody can read it any more.
	awaiting, end := context.WithCancelCause(awaiting)
	defer end(nil)
	go func() {
		select {
		case <-s.stopped:
			end(s.failure())
		case <-awaiting.Done():
		}
	}()
	schedule, err := create(awaiting, s.API, s.Target.URL)
	if err != nil {
		return nil, err
	}
	p.header()
	w := &watcher{
		api: s.API, target: s.Target, schedule: schedule, show: p.row,
		await: func(next []awaited) {
			p.progress(time.Since(began), time.Now(), next)
			if err := p.failed(); err != nil {
				end(err)
			}
		},
	}
	if err := w.watch(awaiting); err != nil {
		return nil, err
	}
	p.clear()
	ctx, stop := context.WithTimeout(ctx, reading)
	defer stop()
	return read(ctx, s, w.runs)
}

// read reads what is stored at the end.
func read(ctx context.Context, s *service, runs []*run) (*evidence, error) {
	e := &evidence{runs: runs, hits: s.Target.Hits()}
	var jobs, schedules, logs error
	e.jobs, jobs = s.API.jobs(ctx, "")
	e.schedules, schedules = s.API.schedules(ctx)
	e.logs, logs = s.API.logs(ctx)
	return e, errors.Join(jobs, schedules, logs)
}
