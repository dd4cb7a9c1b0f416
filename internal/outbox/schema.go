package outbox

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
)

var (
	//go:embed schema/postgres.sql
	postgresSchema string
	//go:embed schema/mysql.sql
	mysqlSchema string
	//go:embed schema/sqlite.sql
	sqliteSchema string
)

// Dialects are the names of the dialects of SQL, the default first.
var Dialects = []string{"postgres", "mysql", "sqlite"}

// Schema returns the statements that create the tables.
func Schema(dialect string) (string, error) {
	i := slices.Index(Dialects, dialect)
	if i < 0 {
		return "", fmt.Errorf("the dialect must be one of %s", strings.Join(Dialects, ", "))
	}
	return []string{postgresSchema, mysqlSchema, sqliteSchema}[i], nil
}
