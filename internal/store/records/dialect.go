package records

import (
	"regexp"
	"strings"
	"sync"
)

// Dialect is the variety of SQL that a database understands.
type Dialect int

// The dialects.
const (
	SQLite Dialect = iota
	PostgreSQL
)

// replacement is a part of a statement that a dialect has another form for.
type replacement struct {
	part *regexp.Regexp
	form string
}

// replacements has the whole difference between the statements of this package and
// what each database understands.
var replacements = [...][]replacement{
	SQLite: {
		// It compares no rows by an index that ends with the number of the row.
		{regexp.MustCompile(`\b(\w+) <= (\$\d+) AND \((\w+), (\w+)\) > \(\$\d+, (\$\d+)\)`), `$1 = $2 AND $4 > $5`},
		{regexp.MustCompile(`= (?:ANY|EACH)\(\$(\d+)\)`), `IN (SELECT value FROM json_each(?$1))`},
		{regexp.MustCompile(`\$(\d+)`), `?$1`},
		{regexp.MustCompile(`::[a-z]+`), ``},
		{regexp.MustCompile(`\bgreatest\(`), `max(`},
		{regexp.MustCompile(`\bleast\(`), `min(`},
		{regexp.MustCompile(` COLLATE "C"`), ``},
		{regexp.MustCompile(` OFFSET 0\)`), `)`},
		{regexp.MustCompile(` OVERRIDING SYSTEM VALUE`), ``},
		{regexp.MustCompile(` FOR (KEY SHARE|(NO KEY )?UPDATE)( OF \w+)?( SKIP LOCKED)?`), ``},
	},
	PostgreSQL: {
		// It might read all rows of the account for a list of keys.
		{regexp.MustCompile(`FROM (\w+)(?: NOT INDEXED)? WHERE (account = \$\d+) AND (\w+) = EACH\((\$\d+)\)`),
			`FROM unnest($4::bigint[]) AS e (each) CROSS JOIN LATERAL (SELECT * FROM $1 WHERE $2 AND $3 = e.each OFFSET 0) o`},
		// The planner must not know the account: docs/adr/0021-postgres-statements.md.
		{regexp.MustCompile(`\baccount = (\$\d+)`), `account = (SELECT $1::bigint)`},
		{regexp.MustCompile(` INDEXED BY \w+| NOT INDEXED`), ``},
	},
}

// texts has the translated statements, which are few and the program's own.
var texts [len(replacements)]sync.Map

// Text translates a statement of this package.
func (d Dialect) Text(sql string) string {
	if known, ok := texts[d].Load(sql); ok {
		return known.(string)
	}
	text := sql
	for _, r := range replacements[d] {
		text = r.part.ReplaceAllString(text, r.form)
	}
	texts[d].Store(sql, text)
	return text
}

// DeleteSome returns the statement that deletes the rows of a table that a condition
// selects, the rest of a SELECT from WHERE to LIMIT. The key has the columns of the
// table's primary key.
func (d Dialect) DeleteSome(table string, key []string, condition string) string {
	columns := strings.Join(key, ", ")
	some := `(SELECT ` + columns + ` FROM ` + table + ` ` + condition + `)`
	if d == SQLite {
		return `DELETE FROM ` + table + ` WHERE (` + columns + `) IN ` + some
	}
	// A join with the bounded list; for IN the planner might read the whole table.
	var same []string
	for _, column := range key {
		same = append(same, `d.`+column+` = o.`+column)
	}
	return `DELETE FROM ` + table + ` d USING ` + some + ` o WHERE ` + strings.Join(same, ` AND `)
}
