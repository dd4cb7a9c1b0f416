package app

import (
	"github.com/punctual-dev/punctual/internal/admission"
	"github.com/punctual-dev/punctual/internal/store"
)

// pageStore is the complete store for the dashboard, with bounded reads. The
// methods of admission.Store hide those of the store, which lie deeper.
type pageStore struct {
	*admission.Store
	unbounded
}

type unbounded struct{ complete }

type complete struct{ store.Store }
