// Command recording runs `punctual demo` in this repository and writes what a terminal
// shows as an animated SVG: each line appears when it was printed.
package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	out := flag.String("out", "demo.svg", "file to write")
	flag.Parse()
	if err := record(ctx, *out); err != nil {
		fmt.Fprintln(os.Stderr, "recording:", err)
		os.Exit(1)
	}
}

// line is what was printed, and when.
type line struct {
	text string
	at   time.Duration
}

// limit bounds what is kept of a run.
const limit = 200

func record(ctx context.Context, path string) error {
	dir, err := os.MkdirTemp("", "punctual-recording-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	build := exec.CommandContext(ctx, "go", "build", "-o", dir+"/punctual", "./cmd/punctual")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		return fmt.Errorf("building the program: %w", err)
	}
	cmd := exec.CommandContext(ctx, dir+"/punctual", "demo")
	cmd.Env, cmd.Stderr = append(os.Environ(), "TZ=UTC"), os.Stderr
	output, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	// The closing hints name the program by its path, which is a temporary one.
	lines, read := collect(output, time.Now(), strings.NewReplacer(dir+"/", ""))
	if err := errors.Join(read, cmd.Wait()); err != nil {
		return fmt.Errorf("running the demo: %w", err)
	}
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(draw(file, "$ punctual demo", lines), file.Close())
}

// collect reads lines until the end, and notes when each came.
func collect(r io.Reader, began time.Time, names *strings.Replacer) ([]line, error) {
	var lines []line
	scanner := bufio.NewScanner(r)
	for scanner.Scan() {
		if len(lines) == limit {
			return nil, fmt.Errorf("the demo prints more than %d lines", limit)
		}
		lines = append(lines, line{names.Replace(scanner.Text()), time.Since(began)})
	}
	return lines, scanner.Err()
}
