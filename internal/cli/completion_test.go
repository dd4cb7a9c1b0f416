package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// completionFile writes the script of a shell to a file.
func completionFile(t *testing.T, shell string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "_punctual")
	if err := os.WriteFile(path, []byte(wantPlayed(t, "", 0, "completion", shell)), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// installed returns the path of a shell or skips the test.
func installed(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("%s is not installed", name)
	}
	return path
}

func TestCompletion_ScriptsLoad(t *testing.T) {
	t.Parallel()
	for name, load := range map[string][]string{
		"bash": {"--norc", "-c", `source "$1" && complete -p punctual`, "-"},
		"zsh":  {"-f", "-c", `autoload -Uz compinit && compinit -D && source "$1" && print ${_comps[punctual]}`, "-"},
		"fish": {"--no-config", "-c", `source $argv[1]; and complete -c punctual`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path, file := installed(t, name), completionFile(t, name)
			if out, err := exec.Command(path, "-n", file).CombinedOutput(); err != nil {
				t.Errorf("%s -n: %v: %s", name, err, out)
			}
			out, err := exec.Command(path, append(load, file)...).CombinedOutput()
			if err != nil || !strings.Contains(string(out), "punctual") {
				t.Errorf("%s does not load the script: %v: %s", name, err, out)
			}
		})
	}
}

func TestCompletion_BashOffersCandidates(t *testing.T) {
	t.Parallel()
	path, file := installed(t, "bash"), completionFile(t, "bash")
	// A program with the same interface, so that the test needs no binary.
	program := filepath.Join(filepath.Dir(file), "punctual")
	if err := os.WriteFile(program, []byte("#!/bin/sh\nprintf '%s\\thelp\\n' \"$@\"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(path, "--norc", "-c",
		`source "$1"; COMP_WORDS=("$2" jobs "list" --st); COMP_CWORD=3; _punctual; printf '%s,' "${COMPREPLY[@]}"`, "-", file,
		program).CombinedOutput()
	if want := "__complete,jobs,list,--st,"; err != nil || string(out) != want {
		t.Errorf("the candidates are %q, %v, want %q", out, err, want)
	}
}

func TestCompletion_OffersTheNamesOfProfiles(t *testing.T) {
	t.Setenv("PUNCTUAL_PROFILES_FILE", filepath.Join(t.TempDir(), "profiles.json"))
	url, _ := profileService(t)
	wantPlayed(t, "sk_a", 0, "login", "--profile", "staging", "--url", url)
	if got := wantPlayed(t, "", 0, "__complete", "jobs", "list", "--profile", "s"); got != "staging\t\n" {
		t.Errorf("the candidates are %q", got)
	}
}

func FuzzComplete(f *testing.F) {
	f.Add("jobs list --state=")
	f.Add("schedules = -- --x")
	f.Fuzz(func(t *testing.T, line string) {
		words := strings.Split(line, " ")
		last := words[len(words)-1]
		for _, c := range candidates(model(t), words) {
			if !strings.HasPrefix(c.word, strings.TrimPrefix(last, "=")) {
				t.Errorf("%q: %q is no candidate", line, c.word)
			}
		}
	})
}
