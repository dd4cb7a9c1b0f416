package service

import (
	"context"
	"testing"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/store"
)

// lateStore exceeds the time limit of each read.
type lateStore struct{ store.Store }

func (lateStore) CompletionAccount(context.Context, job.TokenHash) (int64, error) {
	return 0, fault.SlowRead(context.DeadlineExceeded)
}

// TestCompletionAccount_LateLookupIsUnavailable looks a token up while the store, or this
// process, is held up: the target must report again, and has not asked for too much.
func TestCompletionAccount_LateLookupIsUnavailable(t *testing.T) {
	s := &Service{Config: Config{Store: lateStore{}}}
	token, _ := job.NewToken()
	if _, err := s.CompletionAccount(t.Context(), token); fault.CodeOf(err) != fault.Unavailable {
		t.Errorf("got %v", err)
	}
}
