package app

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/punctual-dev/punctual/internal/secret"
)

func TestNode_WarnsOfFilesThatOthersCanRead(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("a mode does not say who may read a file")
	}
	keys := filepath.Join(t.TempDir(), "keys")
	if err := os.WriteFile(keys, []byte(secret.NewKey()+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	url := file(t)
	database := strings.TrimPrefix(url, "sqlite:")
	start := func() string {
		t.Helper()
		var log bytes.Buffer
		c := configured(url)
		c.SecretsKeyFile, c.Log = keys, slog.New(slog.NewTextHandler(&log, nil))
		n := &Node{config: c}
		if err := n.open(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := n.start(t.Context()); err != nil {
			t.Error(err)
		}
		if err := n.close(); err != nil {
			t.Error(err)
		}
		return log.String()
	}
	if log := start(); strings.Contains(log, "chmod") {
		t.Errorf("files of their owner: the log is\n%s", log)
	}
	for path, mode := range map[string]os.FileMode{keys: 0o640, database: 0o640} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
	}
	if log := start(); strings.Contains(log, "chmod") {
		t.Errorf("files of a group: the log is\n%s", log)
	}
	for path, mode := range map[string]os.FileMode{keys: 0o644, database: 0o604} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
	}
	log := start()
	for _, want := range []string{"chmod o-rw " + keys, "chmod o-rw " + database, "mode=-rw-r--r--", "mode=-rw----r--"} {
		if !strings.Contains(log, want) {
			t.Errorf("the log has no %q:\n%s", want, log)
		}
	}
}
