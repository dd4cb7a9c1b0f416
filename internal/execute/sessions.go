package execute

import (
	"crypto/tls"
	"errors"
	"fmt"

	"github.com/punctual-dev/punctual/internal/fair"
)

const (
	// tlsSessions is how many resumable sessions are kept, one per party, address
	// and port.
	tlsSessions = 2048
	// maxTicket and maxChainKept bound the memory of one session, in bytes.
	maxTicket    = 4 << 10
	maxChainKept = 16 << 10
	// maxChain limits the certificates of a target, in bytes: they stay in
	// memory as long as the connection.
	maxChain = 64 << 10
)

var errLongChain = errors.New("certificates too long")

// sessionCache keeps TLS sessions by party, with its certificate, by address and port.
// crypto/tls keeps them by server name, which would offer one port's ticket to another port's server.
// An account displaces its own, not those of others.
type sessionCache struct {
	all *fair.Cache[string, *tls.ClientSessionState]
}

func newSessionCache() sessionCache {
	return sessionCache{fair.NewCache[string, *tls.ClientSessionState](tlsSessions)}
}

func (s sessionCache) of(c *targetConn) *sessions {
	party, identity := c.route.party, ""
	if party.Certificate != nil {
		identity = party.Certificate.id + " "
	}
	return &sessions{all: s.all, account: party.Account, prefix: fmt.Sprint(party.Account, " ", party.Purpose, " ", c.at, " ", identity)}
}

// sessions is the cache of one party, address and port.
type sessions struct {
	all     *fair.Cache[string, *tls.ClientSessionState]
	account int64
	prefix  string
	large   bool // the certificates are too long to be kept
	// missing is called when there is no session. One may have arrived over another
	// connection and not have been read yet.
	missing func()
}

// Get implements tls.ClientSessionCache.
func (s *sessions) Get(key string) (*tls.ClientSessionState, bool) {
	session, ok := s.all.Get(s.prefix + key)
	if !ok {
		s.missing()
		session, ok = s.all.Get(s.prefix + key)
	}
	return session, ok
}

// Put implements tls.ClientSessionCache.
func (s *sessions) Put(key string, session *tls.ClientSessionState) {
	if session == nil {
		s.all.Delete(s.prefix + key)
		return
	}
	if ticket, _, err := session.ResumptionState(); err != nil || s.large || len(ticket) > maxTicket {
		return
	}
	s.all.Put(s.account, s.prefix+key, session, 1)
}

// verify is a VerifyConnection of tls.Config. It runs before any session is
// put.
func (s *sessions) verify(state tls.ConnectionState) error {
	size := 0
	for _, cert := range state.PeerCertificates {
		size += len(cert.Raw)
	}
	s.large = size > maxChainKept
	if size > maxChain {
		return errLongChain
	}
	return nil
}
