package disk

import (
	"bytes"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// did returns the events of a call that nothing interrupts.
func did(name, path, data string, ints ...int64) []event {
	c := &call{name: name, path: path, data: []byte(data), ints: ints, ret: int64(len(data))}
	if name == "open" {
		c.flags = "O_RDWR|O_CREAT"
	}
	return []event{{call: c}, {call: c, end: true}}
}

func replayed(t *testing.T, parts ...[]event) *image {
	t.Helper()
	m := newImage("/d")
	if err := replay(m, slices.Concat(parts...), nil); err != nil {
		t.Fatal(err)
	}
	return m
}

// show returns files as text: "name=contents" in order, with dots for zeros.
func show(files map[string][]byte) string {
	var found []string
	for _, name := range slices.Sorted(maps.Keys(files)) {
		found = append(found, name+"="+strings.ReplaceAll(string(files[name]), "\x00", "."))
	}
	return strings.Join(found, " ")
}

func TestImage_KeepsWhatWasSynced(t *testing.T) {
	t.Parallel()
	m := replayed(t,
		did("open", "/d/a", ""), did("open", "/d/b", ""), did("open", "/d/a-shm", ""), did("open", "/elsewhere/c", ""),
		did("pwrite64", "/d/a", "one", 3, 0), did("fdatasync", "/d/a", ""), did("fsync", "/d", ""),
		did("pwrite64", "/d/a", "two", 3, 5), did("pwrite64", "/d/b", "b", 1, 2),
		did("ftruncate", "/d/a", "", 6), did("unlink", "/d/b", ""), did("open", "/d/new", ""))
	if got, want := show(m.files(nothing)), "a=one b="; got != want {
		t.Errorf("certain is %s, want %s", got, want)
	}
	if got, want := show(m.files(everything)), "a=one..t new="; got != want {
		t.Errorf("all of it is %s, want %s", got, want)
	}
}

// TestImage_SyncsCoverWhatEndedBeforeThem: a write during a sync is not certain.
func TestImage_SyncsCoverWhatEndedBeforeThem(t *testing.T) {
	t.Parallel()
	sync := did("fsync", "/d/a", "")
	failed := did("fsync", "/d/a", "")
	failed[0].call.ret = -1
	m := replayed(t, did("open", "/d/a", ""), did("fsync", "/d", ""), did("pwrite64", "/d/a", "1", 1, 0),
		sync[:1], did("pwrite64", "/d/a", "2", 1, 1), sync[1:], did("pwrite64", "/d/a", "3", 1, 2), failed)
	if got, want := show(m.files(nothing)), "a=1"; got != want {
		t.Errorf("certain is %s, want %s", got, want)
	}
}

// TestImage_TearsWritesBetweenSectors: of a write over three sectors, any may be old.
func TestImage_TearsWritesBetweenSectors(t *testing.T) {
	t.Parallel()
	old, fresh := strings.Repeat("o", 3*sector), strings.Repeat("n", 2*sector)
	m := replayed(t, did("open", "/d/a", ""), did("fsync", "/d", ""),
		did("pwrite64", "/d/a", old, 3*sector, 0), did("fsync", "/d/a", ""), did("pwrite64", "/d/a", fresh, 2*sector, 256))
	r := rand.New(rand.NewPCG(1, 2))
	seen := map[string]bool{}
	for range 200 {
		b := m.files(func(n int) int { return r.IntN(n + 1) })["a"]
		seen[string([]byte{b[0], b[255], b[256], b[511], b[512], b[1023], b[1024], b[1279], b[1280], b[1535]})] = true
		if len(b) != 3*sector || bytes.IndexByte(b, 0) >= 0 {
			t.Fatalf("%d bytes with %d zeros", len(b), bytes.Count(b, []byte{0}))
		}
	}
	want := []string{"oooooooooo", "oooooonnoo", "oooonnoooo", "oooonnnnoo", "oonnoooooo", "oonnoonnoo", "oonnnnoooo", "oonnnnnnoo"}
	if got := slices.Sorted(maps.Keys(seen)); !slices.Equal(got, slices.Sorted(slices.Values(want))) {
		t.Errorf("seen are %q", got)
	}
}
