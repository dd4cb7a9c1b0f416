package postgres

import (
	"slices"
	"testing"

	"github.com/jackc/pgx/v5"
)

func TestHosts_OrderKeepsEachHostsConfigurations(t *testing.T) {
	for first, want := range map[string][]string{
		"":        {"a:5432 TLS", "a:5432", "b:5433 TLS", "b:5433", "c:5432 TLS", "c:5432"},
		"b:5433":  {"b:5433 TLS", "b:5433", "a:5432 TLS", "a:5432", "c:5432 TLS", "c:5432"},
		"c:5432":  {"c:5432 TLS", "c:5432", "a:5432 TLS", "a:5432", "b:5433 TLS", "b:5433"},
		"gone:80": {"a:5432 TLS", "a:5432", "b:5433 TLS", "b:5433", "c:5432 TLS", "c:5432"},
	} {
		config, err := pgx.ParseConfig("postgres://user@a:5432,b:5433,c:5432/x?sslmode=prefer")
		if err != nil {
			t.Fatal(err)
		}
		h := &hosts{first: first}
		if err := h.order(t.Context(), config); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, one := range candidates(config) {
			text := addressOf(one)
			if one.TLSConfig != nil {
				text += " TLS"
			}
			got = append(got, text)
		}
		if !slices.Equal(got, want) {
			t.Errorf("with %q first: %q, want %q", first, got, want)
		}
	}
}
