package auth

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/punctual-dev/punctual/internal/store"
)

// setupLasts is how long a setup code can be used. A node that needs one for
// longer makes another.
const setupLasts = 7 * 24 * time.Hour

// setup is the code that the first person to sign up must enter: whoever can read
// what this node writes to its log. Its hash is stored as that of an invite is,
// so that the code of each node works on every node.
type setup struct {
	mu      sync.Mutex
	code    string
	expires time.Time
}

// SetupCode returns the code that the first person to sign up must enter, and
// logs it when it is new; "" when there is an account, or nobody may sign up.
func (p *People) SetupCode(ctx context.Context) (string, error) {
	door, err := p.SignupPolicy(ctx)
	if err != nil || !door.First || door.Signup == SignupClosed {
		return "", err
	}
	p.setup.mu.Lock()
	defer p.setup.mu.Unlock()
	return p.setup.code, nil
}

// prepareSetup makes a setup code unless there is one that can be used.
func (p *People) prepareSetup(ctx context.Context) error {
	p.setup.mu.Lock()
	defer p.setup.mu.Unlock()
	now := p.Now()
	if now.Before(p.setup.expires) {
		return nil
	}
	code, expires := newSetupCode(), now.Add(setupLasts)
	if err := p.Store.InviteInsert(ctx, &store.Invite{Hash: hashSetup(code), CreatedAt: now, ExpiresAt: expires}); err != nil {
		return fmt.Errorf("storing a setup code: %w", err)
	}
	p.setup.code, p.setup.expires = code, expires
	p.Log.Info("there is no account yet: who signs up with this setup code becomes the operator", "setup_code", code, "expires", expires.UTC().Format(time.RFC3339))
	return nil
}

// setupLetters leaves out those that are taken for others.
const setupLetters = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"

// newSetupCode makes a code of 80 random bits that a person can type.
func newSetupCode() string {
	b := make([]byte, 16)
	_, _ = rand.Read(b)
	var code strings.Builder
	for i, x := range b {
		if i > 0 && i%4 == 0 {
			code.WriteByte('-')
		}
		code.WriteByte(setupLetters[x%32])
	}
	return code.String()
}

// maxSetup is how much of what was entered is looked at.
const maxSetup = 64

// typed makes up for the ways in which people type a code.
var typed = strings.NewReplacer("-", "", " ", "", "\t", "", "O", "0", "I", "1", "L", "1")

// hashSetup returns what is stored of a setup code. No invite has the same hash:
// their codes begin with InvitePrefix.
func hashSetup(code string) []byte {
	return hashKey("setup " + typed.Replace(strings.ToUpper(code[:min(len(code), maxSetup)])))
}
