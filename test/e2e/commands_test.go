package e2e

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/test/e2e/harness"
)

// prepared returns a database to run commands on; no service uses it.
func prepared(t *testing.T) *harness.Service {
	t.Helper()
	return harness.Prepare(t)
}

func command(t *testing.T, s *harness.Service, args ...string) harness.JSON {
	t.Helper()
	out := harness.JSON(s.Command(t, args...))
	if !out.Valid() {
		t.Fatalf("punctual %q did not print one JSON value: %s", args, out)
	}
	return out
}

func TestCommand_CreatesAndShowsAccounts(t *testing.T) {
	t.Parallel()
	s := prepared(t)
	created := command(t, s, "accounts", "create", "ann@example.com", "--json")
	wantKeys(t, "accounts create", created, "id", "email", "signing_secrets")
	wantMatch(t, "id", created.Get("id"), uuidPattern)
	wantSame(t, "email", created.Get("email"), `"ann@example.com"`)
	if secrets := created.Get("signing_secrets").Items(); len(secrets) != 1 || !strings.HasPrefix(secrets[0].Str(), "whsec_") {
		t.Errorf("want one secret: %s", created.Raw())
	}
	shown := command(t, s, "accounts", "show", "ann@example.com", "--json")
	for _, key := range []string{"id", "email", "signing_secrets"} {
		wantSame(t, "accounts show "+key, shown.Get(key), created.Get(key).Raw())
	}
	wantSame(t, "keys", shown.Get("keys"), "[]")
	key := command(t, s, "keys", "create", "ann@example.com", "--name", "first key", "--json")
	wantKeys(t, "keys create", key, "id", "name", "key")
	wantSame(t, "name", key.Get("name"), `"first key"`)
	if !strings.HasPrefix(key.Get("key").Str(), "sk_") {
		t.Errorf("the key does not begin with sk_: %s", key.Raw())
	}
	shown = command(t, s, "accounts", "show", "ann@example.com", "--json")
	if keys := shown.Get("keys").Items(); len(keys) != 1 || keys[0].Get("id").Raw() != key.Get("id").Raw() {
		t.Errorf("accounts show gives keys %s", shown.Get("keys").Raw())
	}
	if strings.Contains(string(shown), key.Get("key").Str()) {
		t.Error("accounts show tells the whole key")
	}
}

func TestCommand_CreatesAnAccountWithItsFirstKey(t *testing.T) {
	t.Parallel()
	s := prepared(t)
	created := command(t, s, "accounts", "create", "ann@example.com", "--key", "--json")
	wantKeys(t, "accounts create --key", created, "id", "email", "signing_secrets", "key")
	wantKeys(t, "key", created.Get("key"), "id", "name", "key")
	if key := created.Get("key").Get("key").Str(); !strings.HasPrefix(key, "sk_") {
		t.Errorf("the key does not begin with sk_: %s", created.Raw())
	}
	keys := command(t, s, "accounts", "show", "ann@example.com", "--json").Get("keys").Items()
	if len(keys) != 1 {
		t.Fatalf("the account has %d keys, want 1", len(keys))
	}
	wantSame(t, "id", keys[0].Get("id"), created.Get("key").Get("id").Raw())
	wantSame(t, "scope", keys[0].Get("scope"), `"admin"`)
}

func TestCommand_RotateSecretPrintsTheNewestFirst(t *testing.T) {
	t.Parallel()
	s := prepared(t)
	created := command(t, s, "accounts", "create", "ann@example.com", "--json")
	rotated := command(t, s, "accounts", "rotate-secret", "ann@example.com", "--json")
	wantSame(t, "id", rotated.Get("id"), created.Get("id").Raw())
	secrets := rotated.Get("signing_secrets").Items()
	if len(secrets) != 2 || secrets[1].Str() != created.Get("signing_secrets.0").Str() || secrets[0].Str() == secrets[1].Str() {
		t.Errorf("created %s, rotated %s", created.Raw(), rotated.Raw())
	}
	shown := command(t, s, "accounts", "show", "ann@example.com", "--json")
	wantSame(t, "shown afterwards", shown.Get("signing_secrets"), rotated.Get("signing_secrets").Raw())
}

func TestCommand_TakesFlagsBeforeOrAfterArguments(t *testing.T) {
	t.Parallel()
	url := harness.NewDatabase(t)
	for i, args := range [][]string{
		{"accounts", "create", "--database-url", url, "--json", "ann@example.com"},
		{"accounts", "show", "--json", "ann@example.com", "--database-url", url},
		{"accounts", "show", "--database-url=" + url, "ann@example.com", "--json"},
		{"keys", "create", "--name", "n", "ann@example.com", "--json", "--database-url", url},
		{"keys", "create", "--json", "--database-url", url, "ann@example.com", "--name=n"},
		{"keys", "list", "--json", "--database-url", url, "ann@example.com"},
	} {
		result := harness.Command(t, nil, args...)
		if result.Code != 0 || !harness.JSON(result.Stdout).Valid() {
			t.Errorf("%d: punctual %q ended with %d\n%s%s", i, args, result.Code, result.Stdout, result.Stderr)
		}
	}
	result := harness.Command(t, []string{"PUNCTUAL_DATABASE_URL=" + url}, "accounts", "show", "ann@example.com", "--json")
	if result.Code != 0 {
		t.Errorf("the database named by the environment: %d\n%s", result.Code, result.Stderr)
	}
}

func TestCommand_ThatFailsExitsNonZeroWithASentence(t *testing.T) {
	t.Parallel()
	s := prepared(t)
	s.Command(t, "accounts", "create", "ann@example.com", "--json")
	for _, args := range [][]string{
		{"accounts", "create", "ann@example.com", "--json"},
		{"accounts", "create", "no address", "--json"},
		{"accounts", "create", "--json"},
		{"accounts", "show", "nobody@example.com", "--json"},
		{"accounts", "rotate-secret", "nobody@example.com", "--json"},
		{"keys", "create", "nobody@example.com", "--json"},
		{"keys", "list", "nobody@example.com", "--json"},
		{"keys", "revoke", noUUID, "--json"},
		{"keys", "revoke", "x", "--json"},
		{"accounts", "forget", "ann@example.com"},
	} {
		result := s.TryCommand(t, args...)
		if result.Code == 0 || strings.TrimSpace(result.Stderr) == "" {
			t.Errorf("punctual %q ended with %d and said %q", args, result.Code, result.Stderr)
		}
	}
}

// listed returns the entry of a key in `keys list`.
func listed(t *testing.T, s *harness.Service, email, id string) harness.JSON {
	t.Helper()
	list := command(t, s, "keys", "list", email, "--json")
	for _, entry := range list.Items() {
		if entry.Get("id").Str() == id {
			return entry
		}
	}
	t.Fatalf("keys list does not show %s: %s", id, list.Raw())
	return nil
}

func TestCommand_ListsKeysWithTheirLastUse(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	a := s.Account(t)
	entry := listed(t, s, a.Email, a.KeyID)
	wantKeys(t, "keys list", entry, "id", "name", "prefix", "created_at", "last_used_at", "revoked_at", "scope", "expires_at", "cidrs",
		"created_by")
	if prefix := entry.Get("prefix").Str(); prefix == "" || !strings.HasPrefix(a.Key, prefix) || len(prefix) > len(a.Key)/2 {
		t.Errorf("%q is no short prefix of the key", prefix)
	}
	wantSame(t, "last_used_at before use", entry.Get("last_used_at"), "null")
	wantSame(t, "revoked_at", entry.Get("revoked_at"), "null")
	a.Get("/api/jobs").Want(200)
	harness.Eventually(t, time.Minute, "last_used_at to be set", func() bool {
		return !listed(t, s, a.Email, a.KeyID).Get("last_used_at").IsNull()
	})
}

func TestCommand_RevokedKeyIsRefusedByARunningServiceWithin2Seconds(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	a := s.Account(t)
	keepID, keep := s.NewKey(t, a.Email)
	a.Get("/api/jobs").Want(200)
	s.Command(t, "keys", "revoke", a.KeyID, "--json")
	revoked := time.Now()
	harness.Eventually(t, soon, "the revoked key to be refused", func() bool { return a.Get("/api/jobs").Status == 401 })
	if took := time.Since(revoked); took > harness.Allowed(2*time.Second, revoked) {
		t.Errorf("the revoked key worked for %s", took)
	}
	s.Client(t, keep).Get("/api/jobs").Want(200)
	if listed(t, s, a.Email, a.KeyID).Get("revoked_at").IsNull() {
		t.Error("revoked_at of the revoked key is null")
	}
	wantSame(t, "revoked_at of the other key", listed(t, s, a.Email, keepID).Get("revoked_at"), "null")
}

func TestCommand_NewKeyIsAcceptedByARunningServiceAtOnce(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	a := s.Account(t)
	var keys []string
	for range 2 {
		_, key := s.NewKey(t, a.Email)
		keys = append(keys, key)
	}
	record := create(a.Client, waiting)
	for _, key := range keys {
		wantSame(t, "the same account", s.Client(t, key).Get(jobPath(record)).Want(200).Data(), record.Raw())
	}
	if slices.Contains(keys, a.Key) || keys[0] == keys[1] {
		t.Error("two keys are equal")
	}
}

func TestCommand_SecondServeOnTheSameFileFailsWithAClearMessage(t *testing.T) {
	t.Parallel()
	s := harness.Start(t)
	if !strings.HasPrefix(s.DatabaseURL, "sqlite:") {
		t.Skip("several services may share this kind of database")
	}
	result := harness.Command(t, nil, "serve", "--listen=127.0.0.1:0", "--database-url="+s.DatabaseURL)
	if result.Code <= 0 || !strings.Contains(result.Stderr, filepath.Base(s.DatabaseURL)) {
		t.Errorf("ended with status %d and said: %s%s", result.Code, result.Stdout, result.Stderr)
	}
	clear := false
	for _, word := range []string{"already", "another", "in use"} {
		clear = clear || strings.Contains(result.Stderr, word)
	}
	if !clear {
		t.Errorf("does not say that the file is in use: %s", result.Stderr)
	}
	create(s.Public(t), waiting) // the first one is none the worse
	s.Kill()
	s.Restart(t) // and a crash leaves nothing behind that would keep it out
}

func TestCommand_DemoNeedsNothingAndEndsWithin30SecondsWithASummary(t *testing.T) {
	t.Parallel()
	began := time.Now()
	result := harness.Command(t, nil, "demo")
	if result.Code != 0 {
		t.Errorf("exit status %d\n%s%s", result.Code, result.Stdout, result.Stderr)
	}
	if took := time.Since(began); took > harness.Allowed(30*time.Second, began) {
		t.Errorf("took %s", took)
	}
	if len(strings.Split(strings.TrimSpace(result.Stdout), "\n")) < 4 {
		t.Errorf("too little to show two jobs and a summary:\n%s", result.Stdout)
	}
}
