package identity

import (
	"time"

	"github.com/punctual-dev/punctual/internal/job"
)

// HeaderSecret is a secret that header values of an account's jobs refer to.
type HeaderSecret struct {
	Account   int64
	Name      string
	Hosts     []string // the hosts that may receive it
	HTTP      bool     // whether targets of http may receive it, too
	Value     string   // encrypted, as package secret writes it
	CreatedAt time.Time
	UpdatedAt time.Time
	// Kind is not stored: package secret finds it in the value; "" if it can't be
	// decrypted.
	Kind job.SecretKind
}

// MaxHeaderSecrets is the maximum number of header secrets of an account.
const MaxHeaderSecrets = 100
