package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// target is a system that releases are built for.
type target struct{ os, arch string }

func (t target) String() string { return t.os + "/" + t.arch }

func parseTargets(list string) ([]target, error) {
	var all []target
	for text := range strings.SplitSeq(list, ",") {
		system, arch, ok := strings.Cut(text, "/")
		if !ok || !slices.Contains(strings.Split(targets, ","), text) {
			return nil, fmt.Errorf("%q is none of the targets %s", text, targets)
		}
		all = append(all, target{system, arch})
	}
	return all, nil
}

// binary is the program for one target.
type binary struct {
	target
	path string
}

// module is what the variables of the linker begin with.
const module = "github.com/punctual-dev/punctual/"

// build builds the program for a target.
func (r *release) build(ctx context.Context, t target) (binary, error) {
	b := binary{t, filepath.Join(r.work, t.os+"_"+t.arch, "punctual")}
	if t.os == "windows" {
		b.path += ".exe"
	}
	info := module + "internal/buildinfo."
	linker := []string{
		"-s", "-w", "-buildid=",
		"-X", info + "version=" + r.source.version,
		"-X", info + "commit=" + r.source.commit,
		"-X", info + "date=" + r.source.date.Format(time.RFC3339),
		// Where the version was before there was internal/buildinfo.
		"-X", module + "internal/cli.release=" + r.source.version,
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=true", "-ldflags", strings.Join(linker, " "), "-o", b.path, "./cmd/punctual")
	cmd.Dir, cmd.Stderr = r.root, os.Stderr
	// The environment decides nothing about the bytes.
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+t.os, "GOARCH="+t.arch, "GOAMD64=v1", "GOARM64=v8.0",
		"GOFLAGS=", "GOEXPERIMENT=", "GOFIPS140=off", "GOWORK=off", "GOTOOLCHAIN="+r.source.tree)
	if err := cmd.Run(); err != nil {
		return b, fmt.Errorf("building for %s: %w", t, err)
	}
	return b, nil
}
