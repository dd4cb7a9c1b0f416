package rawjson

import "testing"

func TestEqual_IgnoresOnlyTheOrderOfMembers(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{`{"a":1,"b":{"c":[1,{"x":null,"y":2}],"d":"e"}}`, `{"b":{"d":"e","c":[1,{"y":2,"x":null}]},"a":1}`, true},
		{`[1,2]`, `[2,1]`, false},
		{`1.10`, `1.1`, false},
		{`12345678901234567890`, `12345678901234567891`, false},
		{`{"a":12345678901234567890,"b":1}`, `{"b":1,"a":12345678901234567891}`, false},
		{`{"a":1,"b":2}`, `{"a":2,"b":1}`, false},
		{`"\ud83d\ude00"`, `"😀"`, true},
		{`{}`, `[]`, false},
		{`null`, `null`, true},
	} {
		a, errA := Read([]byte(c.a))
		b, errB := Read([]byte(c.b))
		if errA != nil || errB != nil {
			t.Fatal(errA, errB)
		}
		if got := Equal(a, b); got != c.want || Equal(b, a) != c.want {
			t.Errorf("%s and %s: %v, want %v", c.a, c.b, got, c.want)
		}
	}
}

func FuzzEqual(f *testing.F) {
	f.Add(`{"a":1,"b":[{"c":2,"d":1e5}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		v, err := Read([]byte(text))
		if err != nil {
			return
		}
		members := Members(v)
		for i, j := 0, len(members)-1; i < j; i, j = i+1, j-1 {
			members[i], members[j] = members[j], members[i]
		}
		if v.Kind() == '{' && !Equal(v, Object(members)) {
			t.Fatalf("%s differs from itself with its members in another order", v)
		}
	})
}
