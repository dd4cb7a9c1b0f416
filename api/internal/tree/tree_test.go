package tree_test

import (
	"testing"

	"github.com/punctual-dev/punctual/api/internal/tree"
)

const doc = `{"z": {"$ref": "#/a~1b"}, "a/b": {"n": 1.10, "l": [true, null, "<x>"]}, "loop": {"$ref": "#/loop"}, "lost": {"$ref": "#/no/where"}}`

func TestParseKeepsOrderDigitsAndPlaces(t *testing.T) {
	root, err := tree.Parse([]byte(doc))
	if err != nil {
		t.Fatal(err)
	}
	var keys string
	for _, m := range root.All() {
		keys += m.Key + " "
	}
	if keys != "z a/b loop lost " {
		t.Errorf("keys %q", keys)
	}
	target := root.Get("z")
	if target.Pointer != "/a~1b" || string(target.Raw) != `{"n": 1.10, "l": [true, null, "<x>"]}` {
		t.Errorf("z leads to %s: %s", target.Pointer, target.Raw)
	}
	if got := root.Get("z", "n").String(); got != "1.10" {
		t.Errorf("n is %s", got)
	}
	list := root.Get("z", "l").List()
	if len(list) != 3 || list[0].Kind != tree.Bool || list[1].Kind != tree.Null || string(list[2].Raw) != `"<x>"` {
		t.Errorf("l is %s", root.Get("z", "l").Raw)
	}
	if !root.Has("lost") || root.Has("found") || root.Member("z").Ref() != "#/a~1b" {
		t.Error("Has or Member is wrong")
	}
}

func TestNothingIsNotAProblem(t *testing.T) {
	root, err := tree.Parse([]byte(doc))
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []*tree.Node{root.Get("loop"), root.Get("lost"), root.Get("no", "such", "key"), nil} {
		if n.Get("x") != nil || n.String() != "" || n.All() != nil || n.List() != nil || n.Ref() != "" {
			t.Errorf("%v is not nothing", n)
		}
	}
}

func TestParseRefusesWhatIsNotOneDocument(t *testing.T) {
	for _, doc := range []string{"", "{", "[1,", `{"a" 1}`, "1 2", "[}"} {
		if n, err := tree.Parse([]byte(doc)); err == nil {
			t.Errorf("%q: got %s, want an error", doc, n.Raw)
		}
	}
}
