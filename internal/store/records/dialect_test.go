package records

import "testing"

func TestText_TranslatesEachForm(t *testing.T) {
	for _, x := range []struct{ sql, sqlite, postgres string }{
		{
			`SELECT a FROM t INDEXED BY t_a WHERE account = $1 AND b > $2::bigint ORDER BY a COLLATE "C" LIMIT $3 FOR UPDATE SKIP LOCKED`,
			`SELECT a FROM t INDEXED BY t_a WHERE account = ?1 AND b > ?2 ORDER BY a LIMIT ?3`,
			`SELECT a FROM t WHERE account = (SELECT $1::bigint) AND b > $2::bigint ORDER BY a COLLATE "C" LIMIT $3 FOR UPDATE SKIP LOCKED`,
		},
		{
			`UPDATE t SET a = greatest(a, $12), b = least(b, $2) WHERE t.account = $1 AND key = ANY($3)`,
			`UPDATE t SET a = max(a, ?12), b = min(b, ?2) WHERE t.account = ?1 AND key IN (SELECT value FROM json_each(?3))`,
			`UPDATE t SET a = greatest(a, $12), b = least(b, $2) WHERE t.account = (SELECT $1::bigint) AND key = ANY($3)`,
		},
		{
			`SELECT a FROM t NOT INDEXED WHERE account = $1 AND number = EACH($2)`,
			`SELECT a FROM t NOT INDEXED WHERE account = ?1 AND number IN (SELECT value FROM json_each(?2))`,
			`SELECT a FROM unnest($2::bigint[]) AS e (each) CROSS JOIN LATERAL (SELECT * FROM t WHERE account = (SELECT $1::bigint) AND number = e.each OFFSET 0) o`,
		},
	} {
		for range 2 { // the second from the cache
			if got := SQLite.Text(x.sql); got != x.sqlite {
				t.Errorf("SQLite gets %s, want %s", got, x.sqlite)
			}
			if got := PostgreSQL.Text(x.sql); got != x.postgres {
				t.Errorf("PostgreSQL gets %s, want %s", got, x.postgres)
			}
		}
	}
}

func TestDeleteSome_NamesTheWholeKey(t *testing.T) {
	key, condition := []string{"account", "seq"}, `WHERE at < $1 LIMIT $2`
	for dialect, want := range map[Dialect]string{
		SQLite:     `DELETE FROM t WHERE (account, seq) IN (SELECT account, seq FROM t WHERE at < $1 LIMIT $2)`,
		PostgreSQL: `DELETE FROM t d USING (SELECT account, seq FROM t WHERE at < $1 LIMIT $2) o WHERE d.account = o.account AND d.seq = o.seq`,
	} {
		if got := dialect.DeleteSome("t", key, condition); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
