package identity

import "time"

// HeaderSecret is a secret that header values of an account's jobs refer to.
type HeaderSecret struct {
	Account   int64
	Name      string
	Hosts     []string // the hosts that may receive it
	HTTP      bool     // whether targets of http may receive it, too
	Value     string   // encrypted, as package secret writes it
	CreatedAt time.Time
	UpdatedAt time.Time
}

// MaxHeaderSecrets is the maximum number of header secrets of an account.
const MaxHeaderSecrets = 100
