package auth

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/punctual-dev/punctual/internal/identity"
)

// setupLasts is how long a setup code is valid. A node that needs one for longer
// creates another.
const setupLasts = 7 * 24 * time.Hour

// setup is the code that the first person to sign up must enter. It proves that
// they can read this node's log. Its hash is stored like that of an invite, so that
// each node's code works on every node.
type setup struct {
	mu      sync.Mutex
	code    string
	expires time.Time
}

// SetupCode returns the code that the first person to sign up must enter, and logs
// it if it is new. It returns "" if there is an account or sign-up is closed.
func (p *People) SetupCode(ctx context.Context) (string, error) {
	door, err := p.SignupPolicy(ctx)
	if err != nil || !door.First || p.NoPasswords || door.Signup == SignupClosed {
		return "", err
	}
	p.setup.mu.Lock()
	defer p.setup.mu.Unlock()
	return p.setup.code, nil
}

// prepareSetup creates a setup code unless there is a valid one.
func (p *People) prepareSetup(ctx context.Context) error {
	p.setup.mu.Lock()
	defer p.setup.mu.Unlock()
	now := p.Now()
	if now.Before(p.setup.expires) {
		return nil
	}
	code, expires := newSetupCode(), now.Add(setupLasts)
	if err := p.Store.InviteInsert(ctx, &identity.Invite{Hash: hashSetup(code), CreatedAt: now, ExpiresAt: expires}); err != nil {
		return fmt.Errorf("storing a setup code: %w", err)
	}
	p.setup.code, p.setup.expires = code, expires
	p.Log.Info("no account yet: sign up with this setup code to become the operator", "setup_code", code, "expires",
		expires.UTC().Format(time.RFC3339))
	return nil
}

// setupLetters omits letters that are easily confused.
const setupLetters = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"

// newSetupCode returns a code of 80 random bits that a person can type.
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

// maxSetup is how many bytes of the input are read.
const maxSetup = 64

// typed normalises the ways in which people type a code.
var typed = strings.NewReplacer("-", "", " ", "", "\t", "", "O", "0", "I", "1", "L", "1")

// hashSetup returns what is stored of a setup code. No invite has the same hash:
// their codes begin with InvitePrefix.
func hashSetup(code string) []byte {
	return hashKey("setup " + typed.Replace(strings.ToUpper(code[:min(len(code), maxSetup)])))
}
