package secret

import (
	"errors"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/identity"
	"github.com/punctual-dev/punctual/internal/store"
)

// The records that encrypted values are bound to. No two have the same text: an
// account's id has a fixed length, and names and hosts contain no NUL.

// headerRecord is a header secret with the hosts that may receive it and whether over
// http, so that nobody who can only write to the database can permit more.
func headerRecord(account uuid.UUID, name string, hosts []string, http bool) string {
	record := "punctual header secret\x00" + account.String() + "\x00" + name + "\x00" + strings.Join(hosts, ",")
	if http {
		record += "\x00http"
	}
	return record
}

// signingRecord is a signing secret, which has no name: its time of creation
// identifies it, in microseconds.
func signingRecord(account uuid.UUID, created int64) string {
	return "punctual signing secret\x00" + account.String() + "\x00" + strconv.FormatInt(created, 10)
}

// tokenRecord is the token keys of an account.
func tokenRecord(account uuid.UUID) string { return "punctual token keys\x00" + account.String() }

// keyRecord is a private key of an account or of the issuer.
func keyRecord(k *identity.SigningKey) string {
	return "punctual signing key\x00" + strconv.FormatInt(k.Account, 10) + "\x00" + strconv.FormatInt(k.Number, 10)
}

// requestRecord is a request that is passed to the node of a listener, and
// answerRecord the answer to it.
func requestRecord(id, listener uuid.UUID) string {
	return "punctual listener request\x00" + id.String() + "\x00" + listener.String()
}

func answerRecord(id uuid.UUID) string { return "punctual listener answer\x00" + id.String() }

func recordOf(e *store.Encrypted) string {
	if e.Name != "" {
		return headerRecord(e.Account.ID, e.Name, e.Hosts, e.HTTP)
	}
	if e.Tokens {
		return tokenRecord(e.Account.ID)
	}
	return signingRecord(e.Account.ID, e.CreatedAt.UnixMicro())
}

// openHeader decrypts a header secret, and returns whether it may be sent over http. A
// node of a version that knows no such secrets replaces the value of one and leaves its
// http as it was: that value is bound to the record without http, and for https only.
func (k *Keyring) openHeader(account uuid.UUID, name string, hosts []string, http bool, value string) (string, bool, error) {
	text, err := k.Open(headerRecord(account, name, hosts, http), value)
	if http && errors.Is(err, errDamaged) {
		http = false
		text, err = k.Open(headerRecord(account, name, hosts, http), value)
	}
	return text, http, err
}

// openStored decrypts a stored value, and returns the record that it is bound to.
func (k *Keyring) openStored(e *store.Encrypted) (text, record string, err error) {
	if e.Name == "" {
		record = recordOf(e)
		text, err = k.Open(record, e.Value)
		return text, record, err
	}
	text, http, err := k.openHeader(e.Account.ID, e.Name, e.Hosts, e.HTTP, e.Value)
	return text, headerRecord(e.Account.ID, e.Name, e.Hosts, http), err
}
