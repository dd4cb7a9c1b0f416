package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"strings"
	"time"
)

// source is the commit that a release is built from.
type source struct {
	version   string    // as in v1.2.3
	commit    string    // the full hash
	date      time.Time // of the commit, in UTC
	toolchain string    // the toolchain of go.mod, as in go1.26.8

	snapshot bool // not a release
}

var released = regexp.MustCompile(`^v(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z.-]+)?$`)

// describe reads what is checked out. A release needs a tag and no changes; a
// snapshot has a version that Go sorts before the first release.
func describe(ctx context.Context, root string, snapshot bool) (source, error) {
	text, err := output(ctx, root, "git", "log", "-1", "--format=%H %ct")
	if err != nil {
		return source{}, err
	}
	var s source
	var seconds int64
	if _, err := fmt.Sscan(text, &s.commit, &seconds); err != nil {
		return source{}, fmt.Errorf("git describes the commit as %q: %w", text, err)
	}
	s.date = time.Unix(seconds, 0).UTC()
	if s.toolchain, err = toolchain(ctx, root); err != nil {
		return source{}, err
	}
	if s.snapshot = snapshot; snapshot {
		s.version = "v0.0.0-" + s.date.Format("20060102150405") + "-" + s.commit[:12]
		return s, nil
	}
	changed, err := output(ctx, root, "git", "status", "--porcelain")
	if err != nil {
		return source{}, err
	}
	if changed != "" {
		return source{}, fmt.Errorf("there are changes that are not committed; commit them, or build a snapshot:\n%s", changed)
	}
	tags, err := output(ctx, root, "git", "tag", "--points-at", "HEAD")
	if err != nil {
		return source{}, err
	}
	for tag := range strings.FieldsSeq(tags) {
		if released.MatchString(tag) {
			s.version = tag
			return s, nil
		}
	}
	return source{}, errors.New("the commit has no tag like v1.2.3; tag it, or build a snapshot")
}

// toolchain reads which Go builds releases: the line of go.mod. With another one the
// bytes would differ.
func toolchain(ctx context.Context, root string) (string, error) {
	text, err := output(ctx, root, "go", "mod", "edit", "-print")
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(text) {
		if name, found := strings.CutPrefix(strings.TrimSpace(line), "toolchain "); found {
			return name, nil
		}
	}
	return "", errors.New("go.mod names no toolchain; releases need one to be reproducible")
}

// output runs a program in a directory and returns what it writes.
func output(ctx context.Context, dir, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	var problems strings.Builder
	cmd.Stderr = &problems
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, problems.String())
	}
	return strings.TrimSpace(string(out)), nil
}
