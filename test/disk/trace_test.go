package disk

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// hex writes a text as strace does.
func hex(text string) string {
	var b strings.Builder
	for i := range len(text) {
		fmt.Fprintf(&b, `\x%02x`, text[i])
	}
	return b.String()
}

// summary returns a line for each event.
func summary(events []event) string {
	var b strings.Builder
	for _, e := range events {
		when, at := "begins", e.call.begun
		if e.end {
			when, at = "ends", e.call.ended
		}
		fmt.Fprintf(&b, "%s %s %s at %s: %q %v %s = %d\n", e.call.name, e.call.path, when, at.UTC().Format("05.000000"), e.call.data,
			e.call.ints, e.call.flags, e.call.ret)
	}
	return b.String()
}

func TestReadTrace_JoinsInterruptedCalls(t *testing.T) {
	t.Parallel()
	db, log := hex("/d/p.db"), hex("/d/p.db-wal")
	record := strings.Join([]string{
		`71  1700000000.000001 openat(AT_FDCWD<` + hex("/") + `>, "` + db + `", O_RDWR|O_CREAT, 0600) = 9<` + db + `> <0.000010>`,
		`72  1700000000.000020 fsync(11<` + log + `> <unfinished ...>`,
		`71  1700000000.000030 pwrite64(9<` + db + `>, "` + hex("ab") + `", 2, 4096) = 2 <0.000005>`,
		`72  1700000000.000500 <... fsync resumed>) = 0 <0.000480>`,
		`72  1700000000.000600 fsync(11<` + log + `>) = -1 EIO (Input/output error) <0.000001>`,
		`73  1700000000.000700 --- SIGURG {si_signo=SIGURG, si_code=SI_TKILL} ---`,
		`73  1700000000.000800 ftruncate(9<` + db + `>, 512 <unfinished ...>`,
		`74  1700000000.000900 pwrite64(9<` + db + `>, "` + hex("c") + `", 1, 7 <unfinished ...>) = ?`,
		`74  1700000000.000950 +++ killed by SIGKILL +++`,
		`75  1700000000.000960 pwrite64(9<` + db + `>, "` + hex("d") + `", 1, 8 <detached ...>`,
		`76  1700000000.000970 fsync(9<` + db + `>) <detached ...>`, ``}, "\n")
	events, cutOff, err := readTrace(strings.NewReader(record))
	if err != nil {
		t.Fatal(err)
	}
	want := `openat /d/p.db begins at 20.000001: "" [384] O_RDWR|O_CREAT = 9
openat /d/p.db ends at 20.000011: "" [384] O_RDWR|O_CREAT = 9
fsync /d/p.db-wal begins at 20.000020: "" []  = 0
pwrite64 /d/p.db begins at 20.000030: "ab" [2 4096]  = 2
pwrite64 /d/p.db ends at 20.000035: "ab" [2 4096]  = 2
fsync /d/p.db-wal ends at 20.000500: "" []  = 0
fsync /d/p.db-wal begins at 20.000600: "" []  = -1
fsync /d/p.db-wal ends at 20.000601: "" []  = -1
`
	if got := summary(events); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	var names []string
	for _, c := range cutOff {
		names = append(names, fmt.Sprintf("%s%q%d", c.name, c.data, c.ints))
	}
	slices.Sort(names)
	if want := []string{`fsync""[]`, `ftruncate""[512]`, `pwrite64"c"[1 7]`, `pwrite64"d"[1 8]`}; !slices.Equal(names, want) {
		t.Errorf("calls cut off: %q, want %q", names, want)
	}
}

func TestReadTrace_RefusesWhatItCannotFollow(t *testing.T) {
	t.Parallel()
	for _, record := range []string{
		"no line", "7 1.5 fsync(", "7 x.000001 fsync(3) = 0", "7 1.000001 <... fsync resumed>) = 0", "7 1.000001 fsync(3) = zero",
		`7 1.000001 pwrite64(3<\x2f>, "\x61"..., 9, 0) = 9`, `7 1.000001 pwrite64(3<\x2f>, "a", 1, 0) = 1`, `7 1.000001 unlink("\x6") = 0`,
	} {
		if events, _, err := readTrace(strings.NewReader(record)); err == nil {
			t.Errorf("%s was read as\n%s", record, summary(events))
		}
	}
}

// FuzzReadTrace verifies that whatever is read can be replayed or refused.
func FuzzReadTrace(f *testing.F) {
	f.Add(`7 1.000001 pwrite64(3<` + hex("/d/f") + `>, "` + hex("x") + `", 1, 9) = 1`)
	f.Add("7 1.000001 fsync(3<" + hex("/d") + "> <unfinished ...>\n7 1.000009 <... fsync resumed>) = 0 <0.1>")
	f.Add(`7 1.000001 openat(AT_FDCWD, "` + hex("/d/f") + `", O_CREAT|O_TRUNC) = 3`)
	f.Fuzz(func(t *testing.T, record string) {
		events, _, err := readTrace(strings.NewReader(record))
		if err != nil {
			return
		}
		for _, e := range events {
			for _, n := range e.call.ints {
				if n > 1<<20 {
					return // a file of that size would not fit into memory
				}
			}
		}
		m := newImage("/d")
		if replay(m, events, func(at cut) { _ = at.at.Before(time.Now()) }) == nil {
			m.files(everything)
		}
	})
}
