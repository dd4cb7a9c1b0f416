package sim

import (
	"context"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/audit"
	"github.com/punctual-dev/punctual/internal/auth"
	"github.com/punctual-dev/punctual/internal/compat/qstash"
	"github.com/punctual-dev/punctual/internal/edge"
	"github.com/punctual-dev/punctual/internal/httpapi"
	"github.com/punctual-dev/punctual/internal/identity"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/metrics"
	"github.com/punctual-dev/punctual/internal/quota"
	"github.com/punctual-dev/punctual/internal/service"
)

// keyOf returns the key of an account, by its position.
func keyOf(account int) string { return fmt.Sprintf("sk_account%d", account) }

// keyFor returns the record of an account's key. Its id is not drawn at random, so that
// the draws of a seed stay as they are.
func (d *database) keyFor(account int, owner job.Owner) *identity.Key {
	hash := sha256.Sum256([]byte(keyOf(account)))
	return &identity.Key{ID: uuid.UUID{15: byte(account + 1)}, Account: owner.Number, Name: "sim", Hash: hash[:], CreatedAt: d.now(),
		Scope: identity.ScopeAdmin}
}

// serve returns the API of a node as applications call it. Who calls is read past all
// faults: what is checked begins behind that.
func (n *node) serve(svc *service.Service, m *metrics.Metrics, log *slog.Logger) (http.Handler, error) {
	db := n.world.db
	who, err := auth.New(context.Background(), auth.Config{Store: db.store, Now: db.now, Log: log})
	if err != nil {
		return nil, err
	}
	api := httpapi.New(httpapi.Config{
		Service: svc, Auth: who, Audit: audit.New(db.store, db.now, log), Metrics: m, Log: log, Rates: edge.NewRates(0, m),
		Quotas:  quota.NewBook(quota.Config{Store: db.store, Account: who.Account, Now: db.now, Log: log}),
		Running: func() bool { return true },
	})
	api.Mount(qstash.Prefix, qstash.New(qstash.Config{Service: svc, Auth: who, Concurrency: n.world.plan.slots}), qstash.Names()...)
	return api, nil
}

// request is a call of the API by an application or a client.
type request struct {
	account      int // whose key it has; -1 for none
	method, path string
	header       map[string]string
	body         string
}

// unreachable is the status of a call that no node has answered.
const unreachable = 0

// call makes a call of the API at a node, or at another one that serves.
func (w *world) call(at int, who string, r *request) (status int, body string) {
	if w.sched.await(nil, who, r.method+" "+r.path); w.ctx.Err() != nil {
		return unreachable, ""
	}
	for k := range w.nodes {
		api := w.nodes[(at+k)%len(w.nodes)].api()
		if api == nil {
			continue
		}
		sent := httptest.NewRequestWithContext(w.ctx, r.method, "http://punctual.example.com"+r.path, strings.NewReader(r.body))
		if r.account >= 0 {
			sent.Header.Set("Authorization", "Bearer "+keyOf(r.account))
		}
		for name, value := range r.header {
			sent.Header.Set(name, value)
		}
		answer := httptest.NewRecorder()
		api.ServeHTTP(answer, sent)
		w.check.called(r, answer.Code, answer.Body.String())
		return answer.Code, answer.Body.String()
	}
	return unreachable, ""
}

// lasting reports whether a call has got an answer: it need not be made again.
func lasting(status int) bool {
	return status != unreachable && status != http.StatusServiceUnavailable && status != http.StatusTooManyRequests
}
