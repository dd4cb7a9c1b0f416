package soak

import (
	"bufio"
	"context"
	"fmt"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

const mega = 1 << 20

// newSeries returns what is sampled, with what each may rise by.
func newSeries() []*series {
	return []*series{
		{name: "memory of the process", unit: "MB", share: 0.15, most: 10},
		{name: "Go heap", unit: "MB", share: 0.2, most: 8},
		{name: "open descriptors", unit: "", share: 0.1, most: 10, timed: true},
		{name: "goroutines", unit: "", share: 0.1, most: 20, timed: true},
		{name: "database", unit: "MB", share: 0.1, most: 3},
		{name: "lateness, p50", unit: "ms", most: 5, timed: true},
		{name: "lateness, p99", unit: "ms", most: 50, timed: true},
		{name: timer, unit: "ms", most: math.Inf(1)},
	}
}

// timer is a measure of the machine: how late a timer of the test itself is. On one
// that is too busy, the lateness of the service is that of the machine.
const (
	timer   = "a timer on this machine, p99"
	tooBusy = 5 // ms in the mean
)

// busy reports whether the machine was too busy for times to be judged.
func busy(of []*series, warm int) bool {
	t, _ := of[len(of)-1].flat(warm)
	return t.mean > tooBusy
}

// timers measures how late a timer is until ctx ends.
func (s *soak) timers(ctx context.Context) {
	for ctx.Err() == nil {
		const wait = 50 * time.Millisecond
		began := time.Now()
		pause(wait)
		s.do(func() { s.overslept = append(s.overslept, time.Since(began)-wait) })
	}
}

// samples takes a sample every so often until ctx ends. One of a process that does not
// answer repeats the one before.
func (s *soak) samples(ctx context.Context, every time.Duration, of []*series) {
	last := make([]float64, len(of))
	for ctx.Err() == nil {
		wait(ctx, every)
		if found, err := s.sample(ctx); err == nil {
			for i, v := range found {
				if !math.IsNaN(v) { // there was nothing to measure
					last[i] = v
				}
			}
		}
		for i, q := range of {
			q.values = append(q.values, last[i])
		}
	}
}

// sample measures each quantity of newSeries.
func (s *soak) sample(ctx context.Context) ([]float64, error) {
	of, err := s.metrics(ctx)
	if err != nil {
		return nil, err
	}
	size, err := s.databaseSize(ctx)
	if err != nil {
		return nil, err
	}
	var late, overslept []time.Duration
	s.do(func() {
		late, s.late = s.late, nil
		overslept, s.overslept = s.overslept, nil
		s.all = append(s.all, late...)
	})
	slices.Sort(late)
	slices.Sort(overslept)
	ms := func(of []time.Duration, q float64) float64 {
		if len(of) == 0 {
			return math.NaN()
		}
		return float64(quantile(of, q)) / float64(time.Millisecond)
	}
	return []float64{
		of["process_resident_memory_bytes"] / mega, of["go_memstats_heap_alloc_bytes"] / mega, of["process_open_fds"], of["go_goroutines"],
		float64(size) / mega, ms(late, 0.5), ms(late, 0.99), ms(overslept, 0.99),
	}, nil
}

// quantile returns a quantile of sorted values.
func quantile(sorted []time.Duration, q float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(len(sorted)-1, int(q*float64(len(sorted))))]
}

// metrics reads the gauges without labels that the service reports.
func (s *soak) metrics(ctx context.Context) (map[string]float64, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.service.URL()+"/metrics", nil)
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	of := map[string]float64{}
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		name, value, _ := strings.Cut(lines.Text(), " ")
		if number, err := strconv.ParseFloat(value, 64); err == nil {
			of[name] = number
		}
	}
	if resp.StatusCode != http.StatusOK || of["go_goroutines"] == 0 {
		return nil, fmt.Errorf("reading /metrics: status %d", resp.StatusCode)
	}
	return of, nil
}

// databaseSize returns the bytes that the database takes, with the log of SQLite.
func (s *soak) databaseSize(ctx context.Context) (size int64, err error) {
	if path, isFile := strings.CutPrefix(s.service.DatabaseURL, "sqlite:"); isFile {
		files, err := filepath.Glob(path + "*")
		for _, file := range files {
			if info, err := os.Stat(file); err == nil {
				size += info.Size()
			}
		}
		return size, err
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	conn, err := pgx.Connect(ctx, s.service.DatabaseURL)
	if err != nil {
		return 0, err
	}
	defer func() { _ = conn.Close(ctx) }() // it was only read from
	err = conn.QueryRow(ctx, `SELECT pg_database_size(current_database())`).Scan(&size)
	return size, err
}
