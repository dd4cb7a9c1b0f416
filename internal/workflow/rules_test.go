package workflow

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/fault"
)

// known are the records of steps by key.
type known map[Key]*Step

// append adds steps to a run, and returns their positions.
func (k known) append(t *testing.T, r *Run, steps ...*Step) []int {
	t.Helper()
	added, settled, err := Append(r, steps, k)
	if err != nil {
		t.Fatal(err)
	}
	positions := []int{}
	for _, s := range added {
		k[s.Key()] = s
		positions = append(positions, s.Position)
	}
	for _, key := range settled {
		if k[key] != nil {
			k[key].Settled = true
		}
	}
	return positions
}

func started(t *testing.T) (*Run, known) {
	t.Helper()
	r, first := &Run{ID: "wfr_a"}, &Step{Run: "wfr_a"}
	if err := Start(r, first, 0); err != nil {
		t.Fatal(err)
	}
	return r, known{first.Key(): first}
}

func step(kind Kind, number, concurrent int) *Step {
	return &Step{Run: "wfr_a", Kind: kind, Number: number, Concurrent: concurrent, Name: "x", Body: []byte("{}")}
}

// TestAppend tells what each kind of record leaves open, and which messages it settles.
func TestAppend(t *testing.T) {
	for name, test := range map[string]struct {
		steps              [][]*Step
		open, waits, floor int
		positions          string
	}{
		"sequential":           {[][]*Step{{step(Result, 1, 1)}, {step(Result, 2, 1)}}, 3, 0, 2, "[1][2]"},
		"a duplicate":          {[][]*Step{{step(Result, 1, 1)}, {step(Result, 1, 1)}}, 2, 0, 1, "[1][]"},
		"twice in a call":      {[][]*Step{{step(Result, 1, 1), step(Result, 1, 1)}}, 2, 0, 1, "[1]"},
		"call and response":    {[][]*Step{{step(Call, 1, 1), step(Result, 1, 1)}}, 2, 0, 2, "[1 2]"},
		"parallel":             {[][]*Step{{step(Plan, 1, 2), step(Plan, 2, 2)}, {step(Result, 2, 2)}}, 4, 0, 1, "[1 2][3]"},
		"a call":               {[][]*Step{{step(Call, 1, 1)}, {step(Result, 1, 1)}}, 2, 0, 2, "[1][2]"},
		"a wait":               {[][]*Step{{step(Wait, 1, 1)}}, 2, 1, 1, "[1]"},
		"a wait that ends":     {[][]*Step{{step(Wait, 1, 1)}, {step(Result, 1, 1)}}, 2, 0, 2, "[1][2]"},
		"a wait after its end": {[][]*Step{{step(Result, 1, 1)}, {step(Wait, 1, 1)}}, 2, 0, 1, "[1][]"},
		"an invocation":        {[][]*Step{{step(Invoke, 1, 1)}, {step(Result, 1, 1)}, {step(Result, 1, 1)}}, 2, 0, 2, "[1][2][]"},
	} {
		t.Run(name, func(t *testing.T) {
			r, k := started(t)
			positions := ""
			for _, steps := range test.steps {
				positions += fmt.Sprint(k.append(t, r, steps...))
			}
			if positions != test.positions || r.Open != test.open || r.Waits != test.waits || r.Floor != test.floor {
				t.Errorf("positions %s, open %d, waits %d, floor %d; want %+v", positions, r.Open, r.Waits, r.Floor, test)
			}
		})
	}
}

func TestAppend_RefusesWhatIsTooMuch(t *testing.T) {
	large := step(Result, 1, 1)
	large.Body = make([]byte, MaxStepBytes+1)
	reserved := step(Result, 1, 1)
	reserved.Reserved = true
	for name, test := range map[string]struct {
		run  Run
		step *Step
		want string
	}{
		"steps":             {Run{State: Started}, step(Result, MaxSteps+1, 1), "10000 steps"},
		"records":           {Run{State: Started, Rows: maxRows}, step(Result, 1, 1), "too many steps"},
		"a step":            {Run{State: Started}, large, "1 MiB"},
		"bytes":             {Run{State: Started, Bytes: MaxRunBytes}, step(Result, 1, 1), "16 MiB"},
		"the end of a wait": {Run{State: Started, Bytes: MaxRunBytes}, reserved, ""},
		"a run that ended":  {Run{State: Failed}, step(Result, 1, 1), "has ended"},
	} {
		_, _, err := Append(&test.run, []*Step{test.step}, nil)
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
	}
	for name, test := range map[string]struct {
		run  Run
		kept int
		want string
	}{
		"fits":    {Run{State: Started}, MaxKept - 1, ""},
		"events":  {Run{State: Started}, MaxKept, "100 events"},
		"records": {Run{State: Started, Rows: MaxSteps}, 0, "10000 records"},
		"bytes":   {Run{State: Started, Bytes: MaxRunBytes / 2}, 0, "8 MiB"},
	} {
		notice := &Step{Kind: Notice, WaitsFor: "e", Body: []byte("x")}
		err := Keep(&test.run, notice, test.kept)
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) || err == nil &&
			test.run.Open != 0 {
			t.Errorf("keeping, %s: %v, want %q", name, err, test.want)
		}
	}
	if err := Start(&Run{}, &Step{}, MaxLive); fault.CodeOf(err) != fault.TooMany {
		t.Errorf("a run too many: %v", err)
	}
}

func TestFinishAndCancel(t *testing.T) {
	now := time.Unix(1, 0)
	r := &Run{State: Started, Invoker: []byte("{}")}
	if changed, err := Finish(r, []byte("1"), now); !changed || err != nil || r.State != Succeeded || !r.Unreported || !r.EndedAt.Equal(now) {
		t.Errorf("Finish: %v %v %+v", changed, err, r)
	}
	if changed, err := Finish(r, nil, now); changed || err != nil {
		t.Errorf("a second Finish: %v %v", changed, err)
	}
	if Cancel(r, now) {
		t.Error("a run that succeeded was cancelled")
	}
	if _, err := Finish(&Run{State: Cancelled}, nil, now); err == nil {
		t.Error("a cancelled run was finished")
	}
	if _, err := Finish(&Run{State: Started}, make([]byte, MaxStepBytes+1), now); fault.CodeOf(err) != fault.Stale {
		t.Errorf("a result that is too large: %v", err)
	}
}

func TestDecide(t *testing.T) {
	id, live := uuid.UUID{1}, &Run{State: Started, Floor: 2}
	of := &Step{Position: 2}
	for name, test := range map[string]struct {
		m          Message
		r          *Run
		of, result *Step
		want       Decision
	}{
		"a message":             {Message{}, live, of, nil, Send},
		"no run":                {Message{}, nil, of, nil, Skip},
		"no record":             {Message{}, live, nil, nil, Skip},
		"settled":               {Message{}, live, &Step{Position: 2, Settled: true}, nil, Skip},
		"below the floor":       {Message{}, live, &Step{Position: 1}, nil, Skip},
		"ended":                 {Message{}, &Run{State: Cancelled}, of, nil, Skip},
		"a call":                {Message{Key: Key{Kind: Call}}, live, of, nil, Send},
		"a call with result":    {Message{Key: Key{Kind: Call}}, live, of, of, Skip},
		"a callback":            {Message{Callback: true}, live, of, nil, Send},
		"the failure":           {Message{Failure: true}, &Run{State: Failed, Failure: id}, nil, nil, Send},
		"another failure":       {Message{Failure: true}, &Run{State: Failed}, nil, nil, Skip},
		"the failure of a live": {Message{Failure: true}, live, nil, nil, Skip},
	} {
		if got := Decide(test.m, id, test.r, test.of, test.result); got != test.want {
			t.Errorf("%s: %v", name, got)
		}
	}
	wait := Message{Key: Key{Kind: Wait}}
	if !TimesOut(wait, live, of, nil) || TimesOut(wait, live, of, of) || TimesOut(wait, &Run{State: Failed}, of, nil) ||
		TimesOut(Message{}, live, of, nil) {
		t.Error("TimesOut")
	}
}

// TestResume: a resumed run sends again what had no result, a restarted one its payload.
func TestResume(t *testing.T) {
	for name, test := range map[string]struct {
		repeat     func([]*Step) ([]*Step, map[int]bool)
		kinds      []*Step
		want       string
		open, kept int
	}{
		"sequential": {Resume, []*Step{step(Initial, 0, 1), step(Result, 1, 1)}, "map[1:true]", 1, 2},
		"a call":     {Resume, []*Step{step(Initial, 0, 1), step(Result, 1, 1), step(Call, 2, 1)}, "map[1:true]", 1, 2},
		"parallel": {Resume, []*Step{step(Initial, 0, 1), step(Plan, 1, 2), step(Plan, 2, 2), step(Result, 1, 2), step(Wait, 2, 2)},
			"map[2:true]", 1, 4},
		"restarted": {Restart, []*Step{step(Initial, 0, 1), step(Result, 1, 1)}, "map[0:true]", 1, 1},
	} {
		kept, again := test.repeat(test.kinds)
		for i, s := range kept {
			s.Settled = !again[i]
		}
		r := &Run{ID: "wfr_b"}
		if err := Repeat(r, kept, 0); err != nil {
			t.Fatal(err)
		}
		if fmt.Sprint(again) != test.want || r.Open != test.open || r.Rows != test.kept || r.State != Started {
			t.Errorf("%s: again %v, %+v", name, again, r)
		}
		for i := range again {
			if Decide(Message{}, uuid.Nil, r, kept[i], nil) != Send {
				t.Errorf("%s: the message of %d is not sent", name, i)
			}
		}
	}
	for state, archived := range map[State]bool{Started: false, Succeeded: false, Failed: true} {
		if err := Repeatable(&Run{State: state, Archived: archived}); fault.CodeOf(err) != fault.Conflict {
			t.Errorf("a run that is %v, archived %v: %v", state, archived, err)
		}
	}
}

// FuzzReadMessage: what is read is written the same.
func FuzzReadMessage(f *testing.F) {
	for _, text := range []string{"init", "plan:1", "step:10000", "call:2", "wait:3", "invoke:4", "notice:5", "callback:6", "response:7",
		"failure", "step:-1", "step:01", "", ":"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		m, ok := ReadMessage("wfr_a", text)
		if !ok {
			return
		}
		want := m.Text()
		if m.Callback {
			want = CallbackText(m.Text(), m.Last)
		}
		if m.Failure {
			want = FailureText
		}
		again, ok := ReadMessage("wfr_a", want)
		if !ok || again != m || m.Run != "wfr_a" {
			t.Errorf("%q is read as %+v, which is written as %q and read as %+v", text, m, want, again)
		}
	})
}
