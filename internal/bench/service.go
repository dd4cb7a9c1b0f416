package bench

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// startLimit is how long a service may take until it is ready; with many jobs
// in the store and a busy disk it takes a while.
const startLimit = 2 * time.Minute

// service is a running punctual: a process of the bench's own, or one that ran
// before.
type service struct {
	*process
	api *api
	// ready is how long it took from its start until it fired jobs.
	ready time.Duration
}

// database says where a service of the bench's own keeps its records.
type database struct {
	url   string
	file  string // of SQLite, to see its size; "" for others
	empty int64  // its size before the service started
}

// bytes is the size of the SQLite file with what is still in its log; 0 when
// there is none.
func (d *database) bytes() (bytes int64) {
	if d.file == "" {
		return 0
	}
	for _, suffix := range []string{"", "-wal"} {
		if info, err := os.Stat(d.file + suffix); err == nil {
			bytes += info.Size()
		}
	}
	return bytes
}

func (b *bench) newDatabase() database {
	if b.DatabaseURL != "" {
		return database{url: b.DatabaseURL}
	}
	b.databases++
	file := filepath.Join(b.directory, fmt.Sprintf("%d.db", b.databases))
	return database{url: "sqlite:" + file, file: file}
}

// startService starts a service on a database and waits until it is ready.
// workers is how many requests it makes at once; 0 leaves that to it.
func (b *bench) startService(ctx context.Context, d database, key string, workers int) (*service, error) {
	args := []string{
		"serve", "--listen=127.0.0.1:0", "--database-url=" + d.url, "--allow-private-targets",
		"--target-ca-file=" + b.authorityFile, "--log-level=error",
	}
	if b.Sizes.HTTP2 {
		args = append(args, "--prefer-http2")
	}
	if workers > 0 {
		args = append(args, "--concurrency="+strconv.Itoa(workers))
	}
	began := time.Now()
	p, line, err := startProcess(ctx, b.Program, startLimit, args...)
	if err != nil {
		return nil, fmt.Errorf("the service did not start: %w", err)
	}
	url, ok := strings.CutPrefix(line, "listening on ")
	if !ok {
		p.kill()
		return nil, fmt.Errorf("the service said %q when it started, not where it listens", line)
	}
	s := &service{process: p, api: newAPI(url, key, b.Sizes.Clients)}
	ready, err := until(ctx, began.Add(startLimit), func() bool { return s.api.ready(ctx) })
	s.ready = time.Since(began)
	if err == nil && !ready {
		err = fmt.Errorf("the service was not ready within %s", startLimit)
	}
	if err != nil {
		p.kill()
		return nil, err
	}
	return s, nil
}
