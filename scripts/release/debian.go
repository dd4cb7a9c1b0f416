package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// debian packs the program with its systemd unit and its settings.
func (r *release) debian(ctx context.Context, b binary) error {
	// nfpm takes paths relative to where it runs, and variables in its configuration.
	stage := filepath.Join(r.work, "debian")
	if err := os.RemoveAll(stage); err != nil {
		return err
	}
	if err := os.MkdirAll(stage, 0o755); err != nil {
		return err
	}
	if err := os.Link(b.path, filepath.Join(stage, "punctual")); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, "go", "tool", "-modfile=tools/go.mod", "nfpm", "package",
		"--config", "deploy/debian/nfpm.yaml", "--packager", "deb", "--target", r.out)
	cmd.Dir = r.root
	cmd.Env = append(os.Environ(), "GOFLAGS=", "GOWORK=off",
		"PACKAGE_ARCH="+b.arch, "PACKAGE_VERSION="+debianVersion(r.source.version), "PACKAGE_STAGE="+stage,
		"SOURCE_DATE_EPOCH="+strconv.FormatInt(r.source.date.Unix(), 10))
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("nfpm: %w\n%s", err, out)
	}
	return nil
}

// debianVersion turns v1.2.3-rc.1 into 1.2.3~rc.1, which sorts before 1.2.3.
func debianVersion(version string) string {
	return strings.Replace(strings.TrimPrefix(version, "v"), "-", "~", 1)
}
