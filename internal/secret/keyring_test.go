package secret

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
)

func keyFile(t *testing.T, keys ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "keys")
	writeKeys(t, path, keys...)
	return path
}

// written is a time that differs for each version of a file.
var written = time.Now()

func writeKeys(t *testing.T, path string, keys ...string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(strings.Join(keys, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	written = written.Add(time.Second)
	if err := os.Chtimes(path, written, written); err != nil {
		t.Fatal(err)
	}
}

func keyring(t *testing.T, keys ...string) *Keyring {
	t.Helper()
	k, err := OpenKeyring(keyFile(t, keys...))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func TestKeyring_BindsValuesToRecords(t *testing.T) {
	k := keyring(t, NewKey())
	account := uuid.New()
	record := headerRecord(account, "github", []string{"api.github.com"}, false)
	value, err := k.Seal(record, "s3cr3t-value")
	if err != nil || strings.Contains(value, "s3cr3t") || !isSealed(value) {
		t.Fatalf("sealed as %q, %v", value, err)
	}
	if again, _ := k.Seal(record, "s3cr3t-value"); again == value {
		t.Error("the same text is encrypted to the same value")
	}
	if text, err := k.Open(record, value); err != nil || text != "s3cr3t-value" {
		t.Errorf("opened as %q, %v", text, err)
	}
	for what, other := range map[string]string{
		"another account": headerRecord(uuid.New(), "github", []string{"api.github.com"}, false),
		"another name":    headerRecord(account, "gitlab", []string{"api.github.com"}, false),
		"another host":    headerRecord(account, "github", []string{"evil.example"}, false),
		"one more host":   headerRecord(account, "github", []string{"api.github.com", "evil.example"}, false),
		"over http":       headerRecord(account, "github", []string{"api.github.com"}, true),
		"another kind":    signingRecord(account, 1),
	} {
		if text, err := k.Open(other, value); !errors.Is(err, errDamaged) || text != "" {
			t.Errorf("%s: opened as %q, %v", what, text, err)
		}
	}
	for _, damaged := range []string{"", "enc1:", "plain", value[:len(value)-4], value + "AAAA", strings.Replace(value, ":", "", 2)} {
		if text, err := k.Open(record, damaged); err == nil || text != "" {
			t.Errorf("%q is opened as %q", damaged, text)
		}
	}
}

func TestKeyring_FirstEncryptsAllDecrypt(t *testing.T) {
	first, second := NewKey(), NewKey()
	path := keyFile(t, first)
	k, err := OpenKeyring(path)
	if err != nil {
		t.Fatal(err)
	}
	old, _ := k.Seal("r", "text")
	writeKeys(t, path, "# the new one", second, "", first)
	fresh, _ := k.Seal("r", "text")
	if keyOf(old) == keyOf(fresh) || keyOf(fresh) != k.First() {
		t.Errorf("the key is %s, then %s; the first is %s", keyOf(old), keyOf(fresh), k.First())
	}
	for _, value := range []string{old, fresh} {
		if text, err := k.Open("r", value); err != nil || text != "text" {
			t.Errorf("%s is opened as %q, %v", value, text, err)
		}
	}
	other := keyring(t, first)
	if _, err := other.Open("r", fresh); !errors.As(err, new(*UnknownKeyError)) {
		t.Errorf("without its key: %v", err)
	}
	writeKeys(t, path, "not a key")
	if _, err := k.Open("r", fresh); err != nil {
		t.Errorf("while the file is unreadable: %v", err)
	}
}

func TestKeyring_ReadsTheFileAgainForAnUnknownKey(t *testing.T) {
	first, second := NewKey(), NewKey()
	path := keyFile(t, first)
	k, err := OpenKeyring(path)
	if err != nil {
		t.Fatal(err)
	}
	value, _ := keyring(t, second).Seal("r", "text")
	if k.Has(value) {
		t.Error("an unknown key is known")
	}
	writeKeys(t, path, first, second)
	if text, err := k.Open("r", value); err != nil || text != "text" {
		t.Errorf("opened as %q, %v", text, err)
	}
}

func TestKeyring_RefusesFiles(t *testing.T) {
	for what, lines := range map[string][]string{
		"no key": {"", "# only a comment"}, "a short key": {"c2hvcnQ="}, "no base64": {strings.Repeat("?", 44)},
		"too many keys": strings.Fields(strings.Repeat(NewKey()+" ", 17)), "a long file": {strings.Repeat("# x\n", 5000)},
	} {
		if _, err := OpenKeyring(keyFile(t, lines...)); err == nil || !strings.HasPrefix(err.Error(), "--secrets-key-file: ") {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := OpenKeyring(filepath.Join(t.TempDir(), "missing")); err == nil {
		t.Error("a missing file is read")
	}
	var none *Keyring
	if _, err := none.Seal("r", "text"); !errors.Is(err, ErrNoKey) {
		t.Errorf("without a keyring: %v", err)
	}
}
