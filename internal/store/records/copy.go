package records

import (
	"context"
	"strings"

	"github.com/punctual-dev/punctual/internal/store"
)

// Copy returns the queries that store copied records, as far as this package stores
// them. They skip records that exist.
func Copy(r *store.Records) []Query {
	var queries []Query
	for _, a := range r.Accounts {
		insert := accounts.InsertNew(a)
		// PostgreSQL numbers accounts itself unless it is told not to.
		insert.SQL = strings.Replace(insert.SQL, ` VALUES `, ` OVERRIDING SYSTEM VALUE VALUES `, 1)
		queries = append(queries, insert)
		queries = append(queries, copies(&signingSecrets, secretsOf(a))...)
	}
	for _, p := range r.People {
		queries = append(queries, people.InsertNew(p))
		if p.TOTP != nil {
			queries = append(queries, totps.InsertNew(&factor{p.ID, *p.TOTP}))
		}
		for i := range p.Identities {
			queries = append(queries, identities.InsertNew(&p.Identities[i]))
		}
	}
	queries = append(queries, copies(&members, r.Members)...)
	queries = append(queries, copies(&keys, r.Keys)...)
	queries = append(queries, copies(&headerSecrets, r.HeaderSecrets)...)
	for _, a := range r.Alerts {
		queries = append(append(queries, alerts.InsertNew(a)), alertsChanged(a.Owner.Number)...)
	}
	for _, w := range r.Waits {
		queries = append(queries, waits.InsertNew(w), awaited(w.Account, []int64{w.WaitsFor}))
	}
	queries = append(queries, copies(&recipients, r.Recipients)...)
	for _, a := range r.Audits {
		insert := audits.Insert(a)
		insert.SQL += ` ON CONFLICT DO NOTHING` // of its number, its ID or its slot
		queries = append(queries, insert)
	}
	return queries
}

func copies[T any](table *Table[T], records []*T) []Query {
	queries := make([]Query, len(records))
	for i, record := range records {
		queries[i] = table.InsertNew(record)
	}
	return queries
}

// CopyUnfinished implements store.Copying.
func (r *Records) CopyUnfinished(ctx context.Context) (unfinished bool, err error) {
	err = r.engine.Read(ctx, Background, Query{
		SQL: `SELECT EXISTS (SELECT 1 FROM transfers WHERE mark IS NOT NULL)`, Row: into(&unfinished),
	})
	return unfinished, err
}
