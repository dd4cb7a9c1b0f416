package job

import (
	"github.com/punctual-dev/punctual/internal/rawjson"
)

// Merge returns args after a change. A member of the change replaces the member of
// its name, or the one that it excludes; null removes. What is then without a field
// that it needs is removed too. Other members stay as they are, in their order. The
// fields that are columns of the record, not part of args, must not be among
// changes, nor may a name occur twice.
func Merge(args rawjson.Value, changes []rawjson.Member) rawjson.Value {
	m := merger{changes: make(map[string]rawjson.Value, len(changes)), kept: map[string]bool{}}
	for _, c := range changes {
		m.changes[c.Name] = c.Value
	}
	for _, old := range rawjson.Members(args) {
		_, changed := m.changes[old.Name]
		f := byName[old.Name]
		if f != nil && f.Excludes != "" && !f.Strict && !rawjson.IsNull(m.changes[f.Excludes]) {
			m.put(f.Excludes)
		} else if changed {
			m.put(old.Name)
		} else {
			m.add(old)
		}
	}
	for _, c := range changes {
		m.put(c.Name)
	}
	return rawjson.Object(m.complete())
}

// unfilled returns args without the members that were filled in because they were not
// given, and those members. What was given just so, and last, counts as filled in.
func unfilled(args rawjson.Value) (kept rawjson.Value, filled []rawjson.Member) {
	members := rawjson.Members(args)
	n := len(members)
	if n > 0 && members[n-1].Name == "headers" && rawjson.Equal(members[n-1].Value, emptyObject) {
		n--
	}
	if n > 0 && members[n-1].Name == "method" && rawjson.Text(members[n-1].Value) == "get" {
		n--
	}
	return rawjson.Object(members[:n:n]), members[n:]
}

type merger struct {
	changes map[string]rawjson.Value
	members []rawjson.Member
	kept    map[string]bool // the names of members
}

func (m *merger) add(member rawjson.Member) {
	m.members = append(m.members, member)
	m.kept[member.Name] = true
}

// put adds a changed member, unless it was removed or added before, and then those
// that need it.
func (m *merger) put(name string) {
	v := m.changes[name]
	if rawjson.IsNull(v) || m.kept[name] {
		return
	}
	m.add(rawjson.Member{Name: name, Value: v})
	for _, f := range table {
		if f.Needs == name {
			m.put(f.Name)
		}
	}
}

// complete returns the members that have what they need.
func (m *merger) complete() []rawjson.Member {
	members := m.members[:0]
	for _, member := range m.members {
		f := byName[member.Name]
		if f == nil || f.Needs == "" || m.kept[f.Needs] || byName[f.Needs].Column {
			members = append(members, member)
		}
	}
	return members
}
