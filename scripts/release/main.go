// Command release builds what a release consists of: archives with static binaries
// for each target, a list of components (SBOM) of each, Debian packages, the build
// context of the container image, and checksums.
//
// The same commit gives the same bytes, wherever and whenever it is built: paths are
// trimmed, the toolchain is the one that go.mod names, and every time in a file is
// that of the commit. So anyone can verify a release by building it again.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
)

// targets are the systems that releases are built for.
const targets = "linux/amd64,linux/arm64,darwin/amd64,darwin/arm64,windows/amd64,windows/arm64"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// release is one run of the program.
type release struct {
	root    string // of the repository
	out     string // where files go; replaced
	work    string // for what is not part of the release
	source  source
	targets []target
}

func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("release", flag.ContinueOnError)
	root := flags.String("root", ".", "directory of the repository")
	out := flags.String("out", "dist", "directory for the files; it is replaced")
	list := flags.String("targets", targets, "systems to build for")
	snapshot := flags.Bool("snapshot", false, "build a commit without a version's tag, or with changes that are not committed")
	if err := flags.Parse(args); err != nil {
		return err
	}
	r := &release{}
	var err error
	if r.root, err = filepath.Abs(*root); err != nil {
		return err
	}
	if r.out, err = filepath.Abs(*out); err != nil {
		return err
	}
	if r.targets, err = parseTargets(*list); err != nil {
		return err
	}
	if r.source, err = describe(ctx, r.root, *snapshot); err != nil {
		return err
	}
	if r.work, err = os.MkdirTemp("", "punctual-release-"); err != nil {
		return err
	}
	defer os.RemoveAll(r.work)
	return r.make(ctx)
}

// make writes the files of the release.
func (r *release) make(ctx context.Context) error {
	if err := replace(r.out); err != nil {
		return err
	}
	var linux []binary
	for _, t := range r.targets {
		fmt.Fprintln(os.Stderr, "building", r.source.version, "for", t)
		b, err := r.build(ctx, t)
		if err != nil {
			return err
		}
		if err := r.archive(b); err != nil {
			return fmt.Errorf("archive for %s: %w", t, err)
		}
		if err := r.components(b); err != nil {
			return fmt.Errorf("components for %s: %w", t, err)
		}
		if t.os != "linux" {
			continue
		}
		if err := r.debian(ctx, b); err != nil {
			return fmt.Errorf("the Debian package for %s: %w", t.arch, err)
		}
		linux = append(linux, b)
	}
	if len(linux) > 0 {
		if err := r.container(linux); err != nil {
			return fmt.Errorf("build context of the container: %w", err)
		}
	}
	return r.checksums()
}

// marker names the file that makes a directory one that this program may replace.
const marker = "SHA256SUMS"

// replace makes an empty directory, in place of an earlier release if there is one.
func replace(dir string) error {
	entries, err := os.ReadDir(dir)
	switch {
	case os.IsNotExist(err):
	case err != nil:
		return err
	case len(entries) > 0:
		if _, err := os.Stat(filepath.Join(dir, marker)); err != nil {
			return fmt.Errorf("%s holds something else than a release; name an empty directory by -out", dir)
		}
		if err := os.RemoveAll(dir); err != nil {
			return err
		}
	}
	return os.MkdirAll(dir, 0o755)
}

// name returns the path of a file of the release: punctual_1.2.3_linux_amd64.tar.gz.
func (r *release) name(suffix string) string {
	return filepath.Join(r.out, "punctual_"+strings.TrimPrefix(r.source.version, "v")+"_"+suffix)
}
