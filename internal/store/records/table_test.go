package records

import (
	"reflect"
	"testing"
	"time"
)

type note struct {
	Account   int64
	Name      string
	Hosts     []string
	CreatedAt time.Time
}

var notes = Table[note]{
	Name: "notes", Key: []string{"account", "name"},
	Columns: []Column[note]{
		{"account", func(n *note) any { return &n.Account }},
		{"name", func(n *note) any { return &n.Name }},
		{"hosts", func(n *note) any { return &list{to: &n.Hosts, nullable: true} }},
		{"created_at", func(n *note) any { return &n.CreatedAt }},
	},
}

// fakeRow is a row with the given values, which have the types of the targets.
type fakeRow []any

func (r fakeRow) Scan(to ...any) error {
	for i, target := range to {
		reflect.ValueOf(target).Elem().Set(reflect.ValueOf(r[i]))
	}
	return nil
}

func TestTable_NamesEachColumnInEachStatement(t *testing.T) {
	n := &note{7, "a", []string{"x", "y"}, time.UnixMicro(5)}
	const insert = `INSERT INTO notes (account, name, hosts, created_at) VALUES ($1, $2, $3, $4)`
	for got, want := range map[string]string{
		notes.Insert(n).SQL:            insert,
		notes.InsertNew(n).SQL:         insert + ` ON CONFLICT (account, name) DO NOTHING`,
		notes.Put(n, "created_at").SQL: insert + ` ON CONFLICT (account, name) DO UPDATE SET hosts = excluded.hosts`,
	} {
		if got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	var plain []any
	for _, arg := range notes.Insert(n).Args {
		plain = append(plain, Plain(arg))
	}
	if want := []any{int64(7), "a", "x,y", int64(5)}; !reflect.DeepEqual(plain, want) {
		t.Errorf("the values are %v, want %v", plain, want)
	}
	if got := Plain(notes.Insert(&note{}).Args[2]); got != nil {
		t.Errorf("no hosts are stored as %v", got)
	}
}

func TestSelect_StartsAnewOnARetry(t *testing.T) {
	var found []*note
	q := notes.Select(&found, func(n *note) { n.Account = 1 }, `WHERE account = $1`, 7)
	if want := `SELECT account, name, hosts, created_at FROM notes WHERE account = $1`; q.SQL != want {
		t.Errorf("got %s, want %s", q.SQL, want)
	}
	for range 2 {
		q.Start()
		if err := q.Row(fakeRow{int64(7), "a", "x,y", time.UnixMicro(5)}); err != nil {
			t.Fatal(err)
		}
	}
	if want := []*note{{7, "a", []string{"x", "y"}, time.UnixMicro(5)}}; !reflect.DeepEqual(found, want) {
		t.Errorf("found %v, want %v", found, want)
	}
}
