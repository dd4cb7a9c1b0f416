package store

import (
	"context"
	"time"

	"github.com/google/uuid"
)

// Relay passes requests from nodes with attempts to nodes with listeners, and the
// answers back. What it stores need not survive a crash of the database: the
// attempts then fail and are retried. A database for one node only has no Relay.
type Relay interface {
	// ListenerAdd lists a listener, unless its account has most listeners already on
	// nodes that are alive; it reports whether it did.
	ListenerAdd(ctx context.Context, l Listener, most int) (bool, error)
	// ListenerSync makes mine the listeners that are listed for a node, and returns
	// those of other nodes that are alive. It also deletes what nodes that are gone
	// have left, and requests that nobody waits for.
	ListenerSync(ctx context.Context, node int64, mine []Listener) ([]Listener, error)
	// ListenersNamed returns the listeners of an account for a name on nodes that are
	// alive.
	ListenersNamed(ctx context.Context, account int64, name string) ([]Listener, error)

	// RelayAsk stores a request for a listener, unless it is stored already.
	RelayAsk(ctx context.Context, r RelayRequest) error
	// RelayTake takes requests for listeners, the earliest of each first: at most one
	// for each listener given. No other call returns them.
	RelayTake(ctx context.Context, listeners []uuid.UUID) ([]RelayRequest, error)
	// RelayWanted returns which of some requests still exist.
	RelayWanted(ctx context.Context, ids []uuid.UUID) ([]uuid.UUID, error)
	// RelayAnswer stores the answer to a request that was taken. It does nothing if
	// the request is gone.
	RelayAnswer(ctx context.Context, id uuid.UUID, answer []byte) error
	// RelayStates returns what became of requests, in any order. Those that are gone
	// are left out.
	RelayStates(ctx context.Context, ids []uuid.UUID) ([]RelayState, error)
	// RelayCollect returns the answer to a request and deletes the request; nil if
	// there is no answer.
	RelayCollect(ctx context.Context, id uuid.UUID) ([]byte, error)
	// RelayDrop deletes a request. If unless is true, it does so only if the request
	// was not taken. It reports whether there was something to delete.
	RelayDrop(ctx context.Context, id uuid.UUID, unlessTaken bool) (bool, error)
}

// Listener is a listener that is connected to a node.
type Listener struct {
	ID      uuid.UUID
	Node    int64
	Account int64
	// Name is the name in the URLs that it answers, Tag the tag of the jobs that it
	// answers; one of them may be "".
	Name, Tag string
	// Since is when it connected.
	Since time.Time
	// Draining: it takes no new requests of other nodes.
	Draining bool
}

// RelayRequest is a request for a listener.
type RelayRequest struct {
	ID       uuid.UUID
	Listener uuid.UUID
	// ExpiresAt is when nobody waits for the answer any more.
	ExpiresAt time.Time
	Request   []byte
}

// RelayState is what became of a request.
type RelayState struct {
	ID              uuid.UUID
	Taken, Answered bool
	// Gone: the listener is not listed any more, or takes no new requests and has not
	// taken this one.
	Gone bool
}
