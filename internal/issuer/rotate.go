package issuer

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/punctual-dev/punctual/internal/identity"
)

// Rotation is what Rotate did.
type Rotation struct {
	KeyID   string    // of the new key
	SignsAt time.Time // when it begins to sign
	OldEnd  time.Time // until when the keys before it are published at most
}

// Rotate makes a new key. It signs after Ahead; the keys before it are published for
// a day longer. If they are compromised, the new key signs at once, and the others are
// no longer published: receivers that keep them accept tokens by them for MaxAge, and
// may refuse tokens by the new one as long.
func Rotate(ctx context.Context, keys Keys, now time.Time, compromised bool) (*Rotation, error) {
	stored, err := keys.SigningKeys(ctx, identity.IssuerAccount)
	if err != nil {
		return nil, fmt.Errorf("reading the keys of the issuer of tokens: %w", err)
	}
	number := int64(1)
	if len(stored) > 0 {
		number = stored[0].Number + 1
	}
	if len(stored) >= identity.MaxIssuerKeys && !compromised {
		return nil, fmt.Errorf("%d keys are published, which is the limit; try again in some hours, when the oldest have ended",
			len(stored))
	}
	r := &Rotation{SignsAt: now.Add(Ahead)}
	r.OldEnd = r.SignsAt.Add(Published)
	if compromised || number == 1 {
		r.SignsAt, r.OldEnd = now, now
	}
	added, err := add(ctx, keys, number, now, r.SignsAt, r.OldEnd)
	switch {
	case err != nil:
		return nil, fmt.Errorf("storing a key of the issuer of tokens: %w", err)
	case !added:
		return nil, errors.New("another process has just made a new key; start this again if you want one more")
	}
	if stored, err = keys.SigningKeys(ctx, identity.IssuerAccount); err != nil {
		return nil, err
	}
	for i := range stored {
		if stored[i].Number == number && stored[i].Private != "" {
			k, err := parse(&stored[i])
			r.KeyID = k.id
			return r, err
		}
	}
	return r, nil
}
