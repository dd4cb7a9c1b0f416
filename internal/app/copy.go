package app

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"time"

	"github.com/punctual-dev/punctual/internal/attempt"
	"github.com/punctual-dev/punctual/internal/copydb"
	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/store"
	"github.com/punctual-dev/punctual/internal/store/sqlite"
)

// CopyConfig says what is copied where to.
type CopyConfig struct {
	From, To string // database URLs
	// Progress is called after every batch of records.
	Progress func(copydb.Progress)
	// Waiting is that of OpenStore.
	Waiting func(cause error)
}

// Copy copies everything from one database to another, which must be empty or
// hold what an interrupted copy has left there. Attempts that were under way in
// the source when a node crashed are ended first, as the next start would do.
func Copy(ctx context.Context, config CopyConfig) (result *copydb.Result, err error) {
	if config.From == config.To {
		return nil, errors.New("--from and --to name the same database; give an empty one to copy to")
	}
	if path, isFile := sqlitePath(config.From); isFile {
		// Else it would be made, and be empty.
		if _, err := os.Stat(path); err != nil {
			return nil, fmt.Errorf("--from: the database %s can't be read: %w", path, err)
		}
	}
	from, err := join(ctx, "--from", config.From, config.Waiting)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, from.leave(ctx)) }()
	to, err := join(ctx, "--to", config.To, config.Waiting)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, to.leave(ctx)) }()
	if err := from.settle(ctx); err != nil {
		return nil, err
	}
	result, err = copydb.Copy(ctx, from.Copyable, to.Copyable, config.Progress)
	if fault.CodeOf(err) == fault.Invalid {
		err = fmt.Errorf("--to: %w", err)
	}
	return result, err
}

// visit is a store that is open for a command that needs it exclusively. The
// command counts as a node, so that another one finds it there.
type visit struct {
	store.Copyable
	flag string
	node int64
}

func join(ctx context.Context, flag, url string, waiting func(error)) (*visit, error) {
	s, err := openStore(ctx, flag, url, sqlite.Options{Exclusive: true}, waiting)
	if err != nil {
		return nil, err
	}
	v := &visit{Copyable: s, flag: flag}
	if err := v.enter(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", flag, err), v.leave(ctx))
	}
	return v, nil
}

func (v *visit) enter(ctx context.Context) (err error) {
	if v.node, err = v.NodeStart(ctx); err != nil {
		return err
	}
	beat, err := v.NodeHeartbeat(ctx, v.node)
	if err == nil && len(beat.Nodes) > 1 {
		err = errors.New("the database is in use by another punctual, or was until a few seconds ago; stop it first")
	}
	return err
}

func (v *visit) leave(ctx context.Context) error {
	var err error
	if v.node != 0 {
		err = v.NodeStop(context.WithoutCancel(ctx), v.node)
	}
	return errors.Join(err, v.Close())
}

const (
	// goneWithin is after how long a node that crashed is certain to be found
	// gone, and goneLook how often that is looked for.
	goneWithin = 30 * time.Second
	goneLook   = 500 * time.Millisecond
)

// settle ends attempts that were under way when a node went away.
func (v *visit) settle(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, goneWithin,
		fmt.Errorf("%s: a node still has claimed attempts; stop every punctual that uses the database first", v.flag))
	defer cancel()
	ticker := time.NewTicker(goneLook)
	defer ticker.Stop()
	for {
		found, err := v.QueueAbandoned(ctx, 500)
		if err == nil {
			err = attempt.Interrupt(ctx, v, rand.Float64, found, func(c store.Abandoned, err error) error {
				return fmt.Errorf("ending an interrupted attempt of number %d: %w", c.Number, err)
			})
		}
		claimed, awaiting := int64(0), int64(0)
		if err == nil {
			claimed, awaiting, err = v.QueueClaimed(ctx)
		}
		if err == nil && claimed == 0 && awaiting > 0 {
			return fmt.Errorf("%s: jobs that await their completion by their targets can't be copied (found %d); wait until they are final, or cancel them, then copy again", v.flag, awaiting)
		}
		if err != nil || claimed == 0 {
			return err
		}
		if len(found) > 0 {
			continue
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-ticker.C:
		}
	}
}

// whole refuses to run on a store that holds part of a copy.
func whole(ctx context.Context, s store.Store) error {
	t, ok := s.(store.Copyable)
	if !ok {
		return nil
	}
	unfinished, err := t.CopyUnfinished(ctx)
	if err == nil && unfinished {
		err = errors.New("the database holds a copy that is not finished; start punctual copy again as it was started, or give another database")
	}
	return err
}
