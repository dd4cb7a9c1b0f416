package records

import (
	"context"
	"time"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/store"
)

var groups = Table[job.Group]{
	Name: "target_groups", Key: []string{"account", "name"},
	Columns: []Column[job.Group]{
		{"account", func(g *job.Group) any { return &g.Account }},
		{"name", func(g *job.Group) any { return &g.Name }},
		{"targets", func(g *job.Group) any { return &g.Targets }},
		{"inserted_at", func(g *job.Group) any { return &g.InsertedAt }},
		{"updated_at", func(g *job.Group) any { return &g.UpdatedAt }},
	},
}

// GroupPut implements store.Groups.
func (r *Records) GroupPut(ctx context.Context, g *job.Group, holds func(revision int64) error) (created bool, err error) {
	err = r.engine.Write(ctx, func(t Tx) ([]Query, error) {
		var old []*job.Group
		n := 0
		err := t.Run(lockAccount(g.Account),
			groups.Select(&old, nil, `WHERE account = $1 AND name = $2`, g.Account, g.Name),
			Query{SQL: `SELECT count(*) FROM target_groups WHERE account = $1`, Args: []any{g.Account}, Row: into(&n)})
		if err != nil {
			return nil, err
		}
		created = len(old) == 0
		if err := groupHolds(old, holds); err != nil {
			return nil, err
		}
		if created && n >= job.MaxGroups {
			return nil, store.TooManyGroups()
		}
		g.InsertedAt, g.UpdatedAt = t.Now(), t.Now()
		if !created {
			g.InsertedAt = old[0].InsertedAt
			if next := old[0].UpdatedAt.Add(time.Microsecond); g.UpdatedAt.Before(next) {
				g.UpdatedAt = next // each change has its own revision
			}
		}
		return []Query{groups.Put(g)}, nil
	})
	return created, err
}

// GroupCopy implements store.Groups.
func (r *Records) GroupCopy(ctx context.Context, g *job.Group) error {
	return r.write(ctx, groups.Put(g))
}

// groupHolds checks a condition on the revision of a group, if it is there.
func groupHolds(old []*job.Group, holds func(revision int64) error) error {
	switch {
	case holds == nil:
		return nil
	case len(old) == 0:
		return holds(0)
	}
	return holds(old[0].Revision())
}

// GroupGet implements store.Groups.
func (r *Records) GroupGet(ctx context.Context, account int64, name string) (*job.Group, error) {
	var found []*job.Group
	err := r.engine.Read(ctx, Pages, groups.Select(&found, nil, `WHERE account = $1 AND name = $2`, account, name))
	if err == nil && len(found) == 0 {
		err = fault.NoSuch("group")
	}
	if err != nil {
		return nil, err
	}
	return found[0], nil
}

// GroupList implements store.Groups.
func (r *Records) GroupList(ctx context.Context, account int64, after string, limit int) (found []*job.Group, err error) {
	err = r.engine.Read(ctx, Pages,
		groups.Select(&found, nil, `WHERE account = $1 AND name > $2 ORDER BY name LIMIT $3`, account, after, limit))
	return found, err
}

// GroupDelete implements store.Groups.
func (r *Records) GroupDelete(ctx context.Context, account int64, name string, holds func(revision int64) error) error {
	var old []*job.Group
	named := 0
	reads := func() []Query {
		return []Query{groups.Select(&old, nil, `WHERE account = $1 AND name = $2`, account, name), {
			SQL:  `SELECT count(*) FROM (SELECT 1 FROM schedule_tags WHERE account = $1 AND tag = $2 LIMIT 1) n`,
			Args: []any{account, job.GroupTag(name)}, Row: into(&named),
		}}
	}
	refused := func() error {
		if len(old) == 0 {
			return fault.NoSuch("group")
		}
		if err := groupHolds(old, holds); err != nil {
			return err
		}
		if named > 0 {
			return store.ErrGroupNamed
		}
		return nil
	}
	if err := r.engine.Read(ctx, Pages, reads()...); err != nil {
		return err
	}
	if len(old) == 0 || named > 0 {
		return refused()
	}
	return r.deleteNamed(ctx, account, func() []Query { return append([]Query{lockAccount(account)}, reads()...) },
		func(Tx) ([]Query, error) {
			if err := refused(); err != nil {
				return nil, err
			}
			return []Query{{SQL: `DELETE FROM target_groups WHERE account = $1 AND name = $2`, Args: []any{account, name}}}, nil
		})
}

// KeyRelease implements store.Groups.
func (r *Records) KeyRelease(ctx context.Context, owner job.Owner, number int64, held, remembered time.Time) error {
	return r.write(ctx, Query{
		SQL: `UPDATE jobs SET held_until = least(held_until, $3), remembered_until = least(remembered_until, $4)
			WHERE account = $1 AND number = $2 AND held_until IS NOT NULL`,
		Args: []any{owner.Number, number, held, remembered},
	})
}
