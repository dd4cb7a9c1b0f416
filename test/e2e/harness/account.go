package harness

import (
	"encoding/json"
	"fmt"
	"sync/atomic"
	"testing"
)

// Account is an account with one key, created through the command line.
type Account struct {
	*Client // speaks as this account

	ID     string
	Email  string
	Secret string // signs what is sent for the account
	KeyID  string
}

var accounts atomic.Int64

// Account creates an account and a key for it.
func (s *Service) Account(t testing.TB) *Account {
	t.Helper()
	email := fmt.Sprintf("user%d@example.com", accounts.Add(1))
	var account struct {
		ID      string   `json:"id"`
		Secrets []string `json:"signing_secrets"`
		Key     struct {
			ID  string `json:"id"`
			Key string `json:"key"`
		} `json:"key"`
	}
	decode(t, s.Command(t, "accounts", "create", email, "--key", "--json"), &account)
	if account.ID == "" || len(account.Secrets) != 1 || account.Key.ID == "" || account.Key.Key == "" {
		t.Fatalf("accounts create gave no id, not one secret or no key: %+v", account)
	}
	return &Account{
		Client: s.Client(t, account.Key.Key),
		ID:     account.ID, Email: email, Secret: account.Secrets[0], KeyID: account.Key.ID,
	}
}

// NewKey creates a key for an account and returns its id and the key itself.
// Flags are those of the command.
func (s *Service) NewKey(t testing.TB, email string, flags ...string) (id, key string) {
	t.Helper()
	var made struct {
		ID  string `json:"id"`
		Key string `json:"key"`
	}
	decode(t, s.Command(t, append([]string{"keys", "create", email, "--json"}, flags...)...), &made)
	if made.ID == "" || made.Key == "" {
		t.Fatalf("keys create gave no id or no key: %+v", made)
	}
	return made.ID, made.Key
}

func decode(t testing.TB, text string, into any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), into); err != nil {
		t.Fatalf("not the JSON expected: %v\n%s", err, text)
	}
}
