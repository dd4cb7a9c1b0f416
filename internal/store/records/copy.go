package records

import "github.com/punctual-dev/punctual/internal/store"

// Copy returns the queries that store copied records, as far as this package stores
// them. They skip records that exist.
func Copy(r *store.Records) []Query {
	var queries []Query
	queries = append(queries, copies(&headerSecrets, r.HeaderSecrets)...)
	return queries
}

func copies[T any](table *Table[T], records []*T) []Query {
	queries := make([]Query, len(records))
	for i, record := range records {
		queries[i] = table.InsertNew(record)
	}
	return queries
}
