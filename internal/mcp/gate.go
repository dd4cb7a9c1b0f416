package mcp

import (
	"context"
	"sync"
)

// gate bounds how much is under way at once: of an account, and in all.
type gate struct {
	each int
	all  chan struct{}

	mu       sync.Mutex
	accounts map[int64]*doorway
}

// doorway is the part of an account. It exists while somebody uses it or waits.
type doorway struct {
	places chan struct{}
	users  int
}

func newGate(each, all int) *gate {
	return &gate{each: each, all: make(chan struct{}, all), accounts: map[int64]*doorway{}}
}

func (g *gate) use(account int64) *doorway {
	g.mu.Lock()
	defer g.mu.Unlock()
	d := g.accounts[account]
	if d == nil {
		d = &doorway{places: make(chan struct{}, g.each)}
		g.accounts[account] = d
	}
	d.users++
	return d
}

func (g *gate) unuse(account int64, d *doorway) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if d.users--; d.users == 0 {
		delete(g.accounts, account)
	}
}

// enter waits for a place. The caller must call leave afterwards.
func (g *gate) enter(ctx context.Context, account int64) (leave func(), err error) {
	d := g.use(account)
	select {
	case d.places <- struct{}{}:
	case <-ctx.Done():
		g.unuse(account, d)
		return nil, ctx.Err()
	}
	select {
	case g.all <- struct{}{}:
	case <-ctx.Done():
		<-d.places
		g.unuse(account, d)
		return nil, ctx.Err()
	}
	return func() {
		<-g.all
		<-d.places
		g.unuse(account, d)
	}, nil
}

// try enters if there is a place, and reports whether there was.
func (g *gate) try(account int64) (leave func(), ok bool) {
	d := g.use(account)
	select {
	case d.places <- struct{}{}:
	default:
		g.unuse(account, d)
		return nil, false
	}
	select {
	case g.all <- struct{}{}:
	default:
		<-d.places
		g.unuse(account, d)
		return nil, false
	}
	return func() {
		<-g.all
		<-d.places
		g.unuse(account, d)
	}, true
}
