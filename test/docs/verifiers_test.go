package docs

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/punctual-dev/punctual/test/e2e/harness"
)

// verifiers are programs around the functions of the concepts that verify a signature:
// they read secret, headers and body from the file input, and print whether it is right.
var verifiers = []struct {
	language, file string
	before, after  string
	command        []string
}{
	{"go", "verify.go", `package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"
)
`, `
func main() {
	text, _ := os.ReadFile("input")
	var in struct { Secret, Body string; Headers map[string]string }
	_ = json.Unmarshal(text, &in)
	header := http.Header{}
	for name, value := range in.Headers {
		header.Set(name, value)
	}
	fmt.Println(verify(in.Secret, header, []byte(in.Body)) == nil)
}
`, []string{"go", "run", "verify.go"}},
	{"python", "verify.py", "", `
import json
given = json.load(open("input"))
print(str(verify(given["secret"], given["headers"], given["body"].encode())).lower())
`, []string{"python3", "verify.py"}},
	{"js", "verify.mjs", "", `
import { readFileSync } from 'node:fs'
const given = JSON.parse(readFileSync('input', 'utf8'))
console.log(verify(given.secret, given.headers, Buffer.from(given.body)))
`, []string{"node", "verify.mjs"}},
}

func TestVerifiers_AgreeWithTheService(t *testing.T) {
	t.Parallel()
	account := harness.Shared(t).Account(t)
	route := harness.SharedTarget(t).Route(t)
	account.Post("/api/jobs", `{"url":"`+route.URL+`","method":"post","body":{"text":"ü"}}`).Want(201)
	hit := route.Await(t, 1, toReceive)[0]
	headers := map[string]string{}
	for name := range hit.Header {
		headers[strings.ToLower(name)] = hit.Header.Get(name)
	}
	for _, v := range verifiers {
		dir := t.TempDir()
		text := blocks(t, "concepts.md", v.language)
		if len(text) != 1 {
			t.Fatalf("the concepts have %d blocks of %s, want 1", len(text), v.language)
		}
		write := func(file string, content []byte) {
			if err := os.WriteFile(filepath.Join(dir, file), content, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		write(v.file, []byte(v.before+text[0]+v.after))
		for body, want := range map[string]string{string(hit.Body): "true\n", string(hit.Body) + " ": "false\n"} {
			input, err := json.Marshal(map[string]any{"secret": account.Secret, "headers": headers, "body": body})
			if err != nil {
				t.Fatal(err)
			}
			write("input", input)
			if got := run(t, dir, os.Environ(), v.command[0], v.command[1:]...); got != want {
				t.Errorf("%s: verifying %q says %q, want %q", v.language, body, got, want)
			}
		}
	}
}
