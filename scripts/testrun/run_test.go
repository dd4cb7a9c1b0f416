package main

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

// replay feeds a run with recorded events.
func replay(t *testing.T, r *run, lines string) {
	t.Helper()
	now := time.Date(2031, 5, 6, 7, 8, 9, 0, time.UTC)
	for line := range strings.Lines(lines) {
		now = now.Add(time.Millisecond)
		r.line([]byte(strings.TrimSpace(line)), "scripts/test", now)
	}
}

func recorded(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func newTestRun() (*run, *bytes.Buffer) {
	var out bytes.Buffer
	return newRun(&out, module), &out
}

func TestRun_ReportsFailuresAtOnceAndAtTheEnd(t *testing.T) {
	r, out := newTestRun()
	replay(t, r, recorded(t, "failures.jsonl"))
	atOnce := out.String()
	out.Reset()
	if r.finish(false) {
		t.Error("the run passed")
	}
	atEnd := out.String()
	for _, text := range []string{atOnce, atEnd} {
		wantAll(t, text,
			"--- FAIL: "+module+"/bad TestTable/second/case", "bad_test.go:15: got 1, want 2",
			"PUNCTUAL_SEED=42 scripts/test -run '^TestTable$/^second$/^case$' ./bad -count=1\n",
			"PUNCTUAL_E2E_SEED=7 scripts/test -run '^TestSeeded$' ./bad -count=1\n",
			"bad_test.go:29: the parent itself is wrong", "scripts/test -run '^TestOwn$' ./bad -count=1\n",
			"panic: the goroutine is broken", "scripts/test -run '^TestCrash$' ./crash -count=1\n",
			"nobuild/x_test.go:5:28: undefined: undefined",
			"the process failed, none of its tests", "scripts/test ./main -count=1\n",
		)
	}
	wantAll(t, atOnce, "the shared service wrote an alarm", "FAIL\t"+module+"/bad\t0.010s\n", "FAIL\t"+module+"/nobuild [build failed]\n")
	if strings.Contains(atOnce, "TestTable (") || strings.Contains(atOnce, "TestGood") {
		t.Errorf("a test is reported that did not fail by itself:\n%s", atOnce)
	}
	wantLastLine(t, atEnd, "4 passed, 6 failed, 1 skipped")
}

func TestRun_LastScreenIsShortHoweverMuchIsPrinted(t *testing.T) {
	r, out := newTestRun()
	for i := range 200 {
		name := fmt.Sprintf("Test%d", i)
		r.take(event{Action: "run", Package: module + "/x", Test: name}, "scripts/test", time.Now())
		for line := range 100 {
			r.take(event{Action: "output", Package: module + "/x", Test: name, Output: fmt.Sprintf("    x_test.go:1: line %d\n", line)},
				"scripts/test", time.Now())
		}
		r.take(event{Action: "fail", Package: module + "/x", Test: name}, "scripts/test", time.Now())
	}
	r.take(event{Action: "fail", Package: module + "/x"}, "scripts/test", time.Now())
	out.Reset()
	r.finish(false)
	if lines := strings.Count(out.String(), "\n"); lines > 100 {
		t.Errorf("the end has %d lines", lines)
	}
	wantAll(t, out.String(), "line 99", "and 180 further failures")
	wantLastLine(t, out.String(), "0 passed, 200 failed")
}

func TestRun_PrintsPackagesAsGoTestDoes(t *testing.T) {
	r, out := newTestRun()
	r.usage = func(name string) (time.Duration, bool) { return 2500 * time.Millisecond, name == module+"/a" }
	replay(t, r, `{"Action":"start","Package":"`+module+`/a"}
{"Action":"run","Package":"`+module+`/a","Test":"TestA"}
{"Action":"output","Package":"`+module+`/a","Test":"TestA","Output":"    a_test.go:1: not shown\n"}
{"Action":"pass","Package":"`+module+`/a","Test":"TestA","Elapsed":1.5}
{"Action":"output","Package":"`+module+`/a","Output":"ok  \t`+module+`/a\t1.600s\n"}
{"Action":"pass","Package":"`+module+`/a","Elapsed":1.6}
{"Action":"start","Package":"`+module+`/b"}
{"Action":"output","Package":"`+module+`/b","Output":"?   \t`+module+`/b\t[no test files]\n"}
{"Action":"skip","Package":"`+module+`/b","Elapsed":0}
{"Action":"start","Package":"`+module+`/c"}
{"Action":"run","Package":"`+module+`/c","Test":"TestC"}
{"Action":"pass","Package":"`+module+`/c","Test":"TestC","Elapsed":9}
{"Action":"output","Package":"`+module+`/c","Output":"ok  \t`+module+`/c\t(cached)\n"}
{"Action":"pass","Package":"`+module+`/c","Elapsed":0}
`)
	if want := "ok  \t" + module + "/a\t1.600s\tcpu 2.5s\nok  \t" + module + "/c\t(cached)\n"; out.String() != want {
		t.Errorf("printed %q, want %q", out, want)
	}
	if !r.finish(false) {
		t.Error("the run failed")
	}
	wantLastLine(t, out.String(), "2 passed, 0 failed")
	if strings.Contains(out.String(), "TestC") {
		t.Error("the time of a cached test is listed")
	}
}

func TestRun_PackageRunsOnceMoreInALaterStage(t *testing.T) {
	r, out := newTestRun()
	took := time.Duration(0)
	r.usage = func(string) (time.Duration, bool) { took += 2 * time.Second; return took, true }
	for _, name := range []string{"TestA", "TestB"} {
		replay(t, r, `{"Action":"start","Package":"`+module+`/a"}
{"Action":"run","Package":"`+module+`/a","Test":"`+name+`"}
{"Action":"pass","Package":"`+module+`/a","Test":"`+name+`","Elapsed":1.5}
{"Action":"pass","Package":"`+module+`/a","Elapsed":1.6}
`)
	}
	r.finish(false)
	if got := strings.Count(out.String(), module+"/a\t1.600s\tcpu 2.0s\n"); got != 2 {
		t.Errorf("the package ended %d times:\n%s", got, out)
	}
	wantAll(t, out.String(), "the dearest packages")
	wantLastLine(t, out.String(), "2 passed, 0 failed")
}

func TestRun_PackageThatDoesNotEndFails(t *testing.T) {
	r, out := newTestRun()
	replay(t, r, `{"Action":"start","Package":"`+module+`/a"}
{"Action":"run","Package":"`+module+`/a","Test":"TestA"}
`)
	if r.finish(false) {
		t.Error("the run passed")
	}
	wantAll(t, out.String(), "go test ended before it", "TestA (since ", "scripts/test -run '^TestA$' ./a -count=1")
	wantLastLine(t, out.String(), "0 passed, 1 failed")
}

func TestRun_KeepsLinesThatAreNoEvents(t *testing.T) {
	r, out := newTestRun()
	r.line([]byte("go: something is odd"), "", time.Now())
	wantAll(t, out.String(), "go: something is odd\n")
}

func TestStalled_EachEventIsProgress(t *testing.T) {
	r, out := newTestRun()
	r.stall, r.starting = 5*time.Minute, 20*time.Minute
	r.factor, r.present = 2, func() float64 { return 2 }
	now := time.Now()
	name := module + "/a"
	want := func(what string, names ...string) {
		t.Helper()
		if got := r.stalled(now); strings.Join(got, " ") != strings.Join(names, " ") {
			t.Errorf("%s: stalled are %q, want %q", what, got, names)
		}
	}
	r.take(event{Action: "start", Package: name}, "", now)
	now = now.Add(19 * time.Minute)
	want("before the first test")
	r.take(event{Action: "run", Package: name, Test: "TestA"}, "", now)
	for range 10 {
		now = now.Add(4 * time.Minute)
		r.take(event{Action: "output", Package: name, Test: "TestA", Output: "still here\n"}, "", now)
		want("while a test prints")
	}
	r.take(event{Action: "run", Package: name, Test: "TestB"}, "", now)
	r.take(event{Action: "pause", Package: name, Test: "TestB"}, "", now)
	now = now.Add(5*time.Minute + time.Second)
	want("in silence", name)
	want("once more")
	wantAll(t, out.String(), name+": no progress for 5m1s", "TestA (45m1s)")
	if strings.Contains(out.String(), "TestB") {
		t.Error("a test that waits is said to run")
	}
	now = now.Add(time.Hour)
	r.take(event{Action: "start", Package: module + "/b"}, "", now)
	now = now.Add(20*time.Minute + time.Second)
	want("before the first test, too long", module+"/b")
}

// A package on a machine that has become busy is given as much more time.
func TestStalled_ABusyMachineIsGivenTime(t *testing.T) {
	for name, test := range map[string]struct {
		present float64
		limit   time.Duration
	}{
		"as at the start":     {2, 5 * time.Minute},
		"idle":                {1, 5 * time.Minute},
		"three times as busy": {6, 15 * time.Minute},
		"busy without end":    {1000, 5 * mostBusy * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			r, _ := newTestRun()
			r.stall, r.factor, r.present = 5*time.Minute, 2, func() float64 { return test.present }
			began := time.Now()
			r.take(event{Action: "start", Package: module + "/a"}, "", began)
			r.take(event{Action: "run", Package: module + "/a", Test: "TestA"}, "", began)
			if got := r.stalled(began.Add(test.limit)); len(got) != 0 {
				t.Errorf("after %s: stalled are %q", test.limit, got)
			}
			if got := r.stalled(began.Add(test.limit + time.Second)); len(got) != 1 {
				t.Errorf("after %s and a second: stalled are %q", test.limit, got)
			}
		})
	}
}

func TestSilent_OnlyWhileNoPackageRuns(t *testing.T) {
	r, _ := newTestRun()
	r.starting = 20 * time.Minute
	now := time.Now()
	if r.silent(now.Add(39 * time.Minute)) {
		t.Error("building may take forty minutes")
	}
	if !r.silent(now.Add(41*time.Minute)) || r.silent(now.Add(42*time.Minute)) {
		t.Error("building may take more than forty minutes, or is ended twice")
	}
	r.take(event{Action: "start", Package: module + "/a"}, "", now)
	if r.silent(now.Add(time.Hour)) {
		t.Error("go test is silent while a package runs")
	}
}

func wantAll(t *testing.T, text string, wants ...string) {
	t.Helper()
	for _, want := range wants {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in:\n%s", want, text)
		}
	}
}

func wantLastLine(t *testing.T, text, want string) {
	t.Helper()
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if got := lines[len(lines)-1]; got != want {
		t.Errorf("the last line is %q, want %q", got, want)
	}
}
