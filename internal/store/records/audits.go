package records

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/identity"
)

// audits is the audit log. The stores' own code inserts into it.
var audits = Table[identity.AuditEntry]{
	Name: "audits", Key: []string{"account", "class", "seq"},
	Columns: []Column[identity.AuditEntry]{
		{"id", func(a *identity.AuditEntry) any { return &a.ID }},
		{"account", func(a *identity.AuditEntry) any { return &a.Account }},
		{"class", func(a *identity.AuditEntry) any { return &auditClass{of: a} }},
		{"seq", func(a *identity.AuditEntry) any { return &a.Seq }},
		{"slot", func(a *identity.AuditEntry) any { return orNull{&a.Slot} }},
		{"event", func(a *identity.AuditEntry) any { return &a.Event }},
		{"actor_kind", func(a *identity.AuditEntry) any { return &a.ActorKind }},
		{"actor_name", func(a *identity.AuditEntry) any { return &a.ActorName }},
		{"address", func(a *identity.AuditEntry) any { return &a.Address }},
		{"detail", func(a *identity.AuditEntry) any { return &a.Detail }},
		{"count", func(a *identity.AuditEntry) any { return &a.Count }},
		{"inserted_at", func(a *identity.AuditEntry) any { return &a.InsertedAt }},
		{"last_at", func(a *identity.AuditEntry) any { return &a.LastAt }},
	},
}

// auditClass stores the class of an entry.
type auditClass struct {
	of    *identity.AuditEntry
	class int64
}

func (f *auditClass) Target() any { return &f.class }
func (f *auditClass) Load()       { f.of.SetClass(f.class) }

func (f *auditClass) Stored() any {
	class, _ := f.of.Class()
	return class
}

// AuditList implements store.Audits.
func (r *Records) AuditList(
	ctx context.Context, account int64, event string, after uuid.UUID, limit int,
) (found []*identity.AuditEntry, err error) {
	where, args := `account = $1`, []any{account}
	and := func(condition string, arg any) {
		args = append(args, arg)
		where += fmt.Sprintf(` AND `+condition+` $%d`, len(args))
	}
	if after != uuid.Nil {
		and(`id <`, after)
	}
	if event != "" {
		and(`event =`, event)
	}
	args = append(args, limit)
	err = r.engine.Read(ctx, Pages, audits.Select(&found, nil,
		`INDEXED BY audits_list WHERE `+where+fmt.Sprintf(` ORDER BY id DESC LIMIT $%d`, len(args)), args...))
	return found, err
}

// AuditPage implements store.Copies.
func (r *Records) AuditPage(ctx context.Context, account int64, after uuid.UUID, limit int) ([]*identity.AuditEntry, error) {
	return read(ctx, r, Background, &audits, `INDEXED BY audits_list WHERE (account, id) > ($1, $2::uuid) ORDER BY account, id LIMIT $3`,
		account, after, limit)
}

// AuditPrune implements store.Audits.
func (r *Records) AuditPrune(ctx context.Context, before time.Time, limit int) (int, error) {
	return r.prune(ctx, "audits", audits.Key, `WHERE last_at < $1 ORDER BY last_at LIMIT $2 FOR UPDATE SKIP LOCKED`, before, limit)
}
