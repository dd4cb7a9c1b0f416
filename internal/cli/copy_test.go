package cli

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/internal/copydb"
)

// steps are what a copy of many jobs tells, a second apart.
var steps = []copydb.Progress{
	{Section: "accounts", Records: 2},
	{Section: "jobs", Records: 500},
	{Section: "jobs", Records: 1000},
	{Section: "jobs", Records: 1200},
	{Section: "jobs", Checking: true, Records: 500},
	{Section: "jobs", Checking: true, Records: 1000},
}

func progressOf(live bool, step time.Duration) string {
	var out bytes.Buffer
	now := time.Now()
	p := &copyProgress{out: &out, live: live, now: func() time.Time { return now }}
	for _, s := range steps {
		p.show(s)
		now = now.Add(step)
	}
	p.end()
	return out.String()
}

func TestACopyShowsALineForEachSection(t *testing.T) {
	t.Parallel()
	const want = "2 accounts copied\n1200 jobs copied\n1000 jobs compared\n"
	if got := progressOf(false, time.Second); got != want {
		t.Errorf("a quick copy shows\n%swant\n%s", got, want)
	}
	const slow = "2 accounts copied\n1000 jobs copied\n1200 jobs copied\n500 jobs compared\n1000 jobs compared\n"
	if got := progressOf(false, lineEvery); got != slow {
		t.Errorf("a slow copy shows\n%swant\n%s", got, slow)
	}
}

func TestACopyShowsALiveLineAtATerminal(t *testing.T) {
	t.Parallel()
	const erase = "\r\x1b[K"
	const want = erase + "2 accounts copied" + erase + "2 accounts copied\n" +
		erase + "1000 jobs copied" + erase + "1200 jobs copied" + erase + "1200 jobs copied\n" +
		erase + "1000 jobs compared" + erase + "1000 jobs compared\n"
	if got := progressOf(true, liveEvery); got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestACopyPrintsWhatItCopiedAsJSON(t *testing.T) {
	t.Parallel()
	from, to := "sqlite:"+filepath.Join(t.TempDir(), "from.db"), "sqlite:"+filepath.Join(t.TempDir(), "to.db")
	run := func(args ...string) []byte {
		t.Helper()
		var out, errOut bytes.Buffer
		if status := Run(t.Context(), args, &out, &errOut); status != 0 {
			t.Fatalf("punctual %q ended with status %d: %s", args, status, errOut.String())
		}
		return out.Bytes()
	}
	run("accounts", "create", "ann@example.com", "--database-url", from)
	run("keys", "create", "ann@example.com", "--database-url", from)
	var view copyView
	if err := json.Unmarshal(run("copy", "--from", from, "--to", to, "--json"), &view); err != nil {
		t.Fatal(err)
	}
	if len(view.Records) != 14 || view.Records["accounts"] != 1 || view.Records["people"] != 1 || view.Records["members"] != 1 ||
		view.Records["keys"] != 1 || view.Records["audits"] != 2 || view.Resumed || view.Seconds <= 0 {
		t.Errorf("the copy printed %+v", view)
	}
}
