package main

import (
	"os"
	"path/filepath"
	"testing"
)

// running is a test that runs the service's program.
const running = `import (
	"os"
	"os/exec"
	"testing"
)

func TestRuns(t *testing.T) {
	if out, err := exec.Command(os.Getenv("PUNCTUAL_E2E_BINARY")).CombinedOutput(); err != nil || string(out) != "at your service\n" {
		t.Errorf("%v, %q", err, out)
	}
}
`

// fakeProgram adds the service's program to a module that fake has made.
func fakeProgram(t *testing.T, g *goTests, text string) {
	t.Helper()
	t.Setenv(programVariable, "") // of a run that these tests are part of
	dir := filepath.Join(g.dir, "cmd/punctual")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "main.go"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func (g *goTests) withProgram() []stage {
	stages := g.all()
	stages[0].program = true
	return stages
}

func TestBuild_TestsGetTheProgram(t *testing.T) {
	g, out := fake(t, running)
	fakeProgram(t, g, "package main\n\nfunc main() { print(\"at your service\\n\") }\n")
	if status := g.carryOut(g.withProgram(), nil); status != 0 {
		t.Errorf("the status is %d:\n%s", status, out)
	}
	wantLastLine(t, out.String(), "1 passed, 0 failed")
}

func TestBuild_FailureEndsTheRun(t *testing.T) {
	g, out := fake(t, running)
	fakeProgram(t, g, "package main\n\nfunc main() { undefined() }\n")
	if status := g.carryOut(g.withProgram(), nil); status != 1 {
		t.Errorf("the status is %d:\n%s", status, out)
	}
	wantAll(t, out.String(), "building the service's program", "undefined: undefined")
	wantLastLine(t, out.String(), "0 passed, 1 failed")
}

func TestBuild_GivenProgramIsTaken(t *testing.T) {
	g := &goTests{}
	t.Setenv(programVariable, "/somewhere/punctual")
	if !g.build([]stage{{program: true}}) || g.program != "" {
		t.Errorf("the program is %q", g.program)
	}
}
