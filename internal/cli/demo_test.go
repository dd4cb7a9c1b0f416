package cli

import (
	"bytes"
	"regexp"
	"strings"
	"testing"
)

// TestTheDemoEndsWellAndShowsEachRun runs the whole demo, about fifteen seconds.
func TestTheDemoEndsWellAndShowsEachRun(t *testing.T) {
	t.Parallel()
	var out, errOut bytes.Buffer
	if status := Run(t.Context(), []string{"demo"}, &out, &errOut); status != 0 {
		t.Fatalf("exit status %d: %s\n%s", status, &errOut, &out)
	}
	if errOut.Len() > 0 {
		t.Errorf("standard error: %s", &errOut)
	}
	// On a slow machine there can be more recurring runs, and runs change places.
	for _, line := range []string{
		`job  +due  +fired  +late  status  state`,
		`one-off  +TIME  TIME +LATE  200     completed`,
		`recurring  +TIME  TIME +LATE  200     completed  count 1`,
		`recurring  +TIME  TIME +LATE  200     completed  count 6`,
		`fails once  TIME  TIME +LATE  503     retryable  in 1[01]\.\d s`,
		`fails once  TIME  TIME +LATE  200     completed  attempt 2`,
		`  runs       \d+: \d+ recurring, 2 fails once, 1 one-off`,
		`  lateness   median LATE, worst LATE`,
		`  jobs       \d+: \d+ completed(, 1 cancelled)?`,
		`  schedules  1: 1 disabled`,
		`  logs       \d+: \d+ worker\.http\.request, \d+ worker\.http\.response`,
		`All was as promised\. The service has stopped and its files are gone\.`,
		`  Serve             go run \./cmd/punctual serve --public-api-key sk_trial`,
	} {
		pattern := strings.NewReplacer("TIME", `\d\d:\d\d:\d\d\.\d{3}`, "LATE", `\d+\.\d ms`).Replace(line)
		if !regexp.MustCompile(`(?m)^` + pattern + `$`).Match(out.Bytes()) {
			t.Errorf("no line like %s", line)
		}
	}
	if strings.ContainsAny(out.String(), "\r\x1b") {
		t.Error("control characters where there is no terminal")
	}
	if t.Failed() {
		t.Log(out.String())
	}
}

func TestTheHintsCallTheProgramAsItWasCalled(t *testing.T) {
	t.Parallel()
	for program, want := range map[string]string{
		"punctual": "punctual", "./bin/punctual": "./bin/punctual",
		"/tmp/go-build123/b001/exe/punctual": "go run ./cmd/punctual",
	} {
		if got := invocation(program); got != want {
			t.Errorf("%s: %s, want %s", program, got, want)
		}
	}
}
