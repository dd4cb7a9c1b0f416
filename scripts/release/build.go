package main

import (
	"context"
	"debug/buildinfo"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
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
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs="+strconv.FormatBool(!r.source.snapshot), "-ldflags",
		strings.Join(linker, " "), "-o", b.path, "./cmd/punctual")
	cmd.Dir, cmd.Stderr = r.root, os.Stderr
	// The environment decides nothing about the bytes.
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+t.os, "GOARCH="+t.arch, "GOAMD64=v1", "GOARM64=v8.0",
		"GOFLAGS=", "GOEXPERIMENT=", "GOFIPS140=off", "GOWORK=off", "GOTOOLCHAIN="+r.source.toolchain)
	if err := cmd.Run(); err != nil {
		return b, fmt.Errorf("building for %s: %w", t, err)
	}
	return b, r.verify(b)
}

// verify checks that the program records the commit, which Go leaves out where it does
// not find the repository: such a build would differ from others.
func (r *release) verify(b binary) error {
	if r.source.snapshot {
		return nil
	}
	info, err := buildinfo.ReadFile(b.path)
	if err != nil {
		return err
	}
	recorded := map[string]string{}
	for _, s := range info.Settings {
		recorded[s.Key] = s.Value
	}
	if recorded["vcs.revision"] != r.source.commit || recorded["vcs.modified"] != "false" {
		return fmt.Errorf("the program for %s does not record the commit %s; build in a clone of the repository, not in a work tree of another", b.target, r.source.commit)
	}
	return nil
}
