package cli

import (
	"bufio"
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/punctual-dev/punctual/internal/secret"
)

var update = flag.Bool("update", false, "write what the commands print into the scripts")

// TestMain keeps the caller's settings out of the tests.
func TestMain(m *testing.M) {
	for _, entry := range os.Environ() {
		name, _, _ := strings.Cut(entry, "=")
		if strings.HasPrefix(name, variablePrefix) || name == "COLUMNS" {
			_ = os.Unsetenv(name)
		}
	}
	// Nobody's profiles are read or changed.
	directory, err := os.MkdirTemp("", "punctual-cli-")
	if err != nil {
		panic(err)
	}
	_ = os.Setenv("PUNCTUAL_PROFILES_FILE", filepath.Join(directory, "profiles.json"))
	status := m.Run()
	_ = os.RemoveAll(directory)
	os.Exit(status)
}

// TestScripts runs the scripts in testdata. A script is what a terminal would
// show: each line that begins with $ is a command, what follows is its output.
// What a command reads is written as in: $ echo "text" | punctual …
// Lines of standard error begin with !, and a last line tells an exit status
// other than 0.
//
// $db stands for the flag that names the script's own database. Ids, keys,
// secrets, times, durations and sizes differ from run to run; they are written <id 1>, <id 2> and
// so on, in the order they first appear, and can be used so in commands.
//
// $service stands for the flags with the URL and a key of a service that runs
// while the script does, $url for its URL. What calls it is printed with one
// duration for all and without the alignment of columns, which depend on the run.
func TestScripts(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := newScript(t).play(string(text))
			if *update {
				err = os.WriteFile(file, []byte(got), 0o644)
			} else if got != string(text) {
				t.Errorf("the script plays differently:\n%s", difference(string(text), got))
			}
			if err != nil {
				t.Fatal(err)
			}
		})
	}
}

// script is the playing of one script.
type script struct {
	t         *testing.T
	directory string
	names     map[string]string // of what differs from run to run
	values    map[string]string // the other way round
	counts    map[string]int
	url, key  string // of the service; "" before it is started
}

func newScript(t *testing.T) *script {
	return &script{t: t, directory: t.TempDir(), names: map[string]string{}, values: map[string]string{}, counts: map[string]int{}}
}

// play carries out a script's commands and gives it with the output they had.
func (s *script) play(text string) string {
	var played strings.Builder
	for line := range strings.Lines(text) {
		switch {
		case strings.HasPrefix(line, "$ punctual"):
			played.WriteString(line + s.command(strings.TrimSuffix(line, "\n"), ""))
		case strings.HasPrefix(line, "$ echo "):
			typed, command, _ := strings.Cut(strings.TrimPrefix(strings.TrimSuffix(line, "\n"), "$ echo "), " | ")
			played.WriteString(line + s.command("$ "+command, strings.Trim(typed, `"`)+"\n"))
		case strings.HasPrefix(line, "#"):
			played.WriteString("\n" + line)
		}
	}
	return strings.TrimPrefix(played.String(), "\n")
}

// command runs a command line with what it reads and gives what it printed.
func (s *script) command(line, typed string) string {
	var out, errOut bytes.Buffer
	words := s.words(strings.TrimPrefix(line, "$ punctual"))
	status := run(s.t.Context(), words, strings.NewReader(typed), &out, &errOut)
	if strings.Contains(line, "$service") {
		for _, b := range []*bytes.Buffer{&out, &errOut} {
			text := gaps.ReplaceAllString(created.ReplaceAllString(took.ReplaceAllString(b.String(), "N ms"), "$1 TIME"), "$1  ")
			b.Reset()
			b.WriteString(text)
		}
	}
	printed := s.steady(out.String())
	for wrong := range strings.Lines(s.steady(errOut.String())) {
		printed += "! " + wrong
	}
	if status != 0 {
		printed += fmt.Sprintf("[exit status %d]\n", status)
	}
	return printed
}

var created = regexp.MustCompile(`(?m)^(created) .*$`) // in whole seconds, so several may be equal

var took, gaps = regexp.MustCompile(`\b\d+(\.\d)? ms\b`), regexp.MustCompile(`(\S) {2,}`)

var word = regexp.MustCompile(`"[^"]*"|<[a-z]+ \d+>|[^\s"<]+`)

// words splits a command line and puts in what its names stand for.
func (s *script) words(line string) (words []string) {
	for _, w := range word.FindAllString(line, -1) {
		if value, ok := s.values[w]; ok {
			w = value
		}
		if w == "$service" {
			s.serve()
			words = append(words, "--url="+s.url, "--api-key="+s.key)
			continue
		}
		if strings.Contains(w, "$url") {
			s.serve()
			w = strings.ReplaceAll(w, "$url", s.url)
		}
		w = strings.ReplaceAll(strings.Trim(w, `"`), "$dir", s.directory)
		if w == "$db" {
			w = "--database-url=sqlite:" + filepath.Join(s.directory, "punctual.db")
		}
		words = append(words, w)
	}
	return words
}

// serve starts the service of the script, unless it runs.
func (s *script) serve() {
	if s.url != "" {
		return
	}
	s.url, s.key = startService(s.t, filepath.Join(s.directory, "service.db"))
}

// startService runs a service in this process until the test ends and returns its
// URL and the key of an account.
func startService(t *testing.T, database string) (url, key string) {
	t.Helper()
	flag := "--database-url=sqlite:" + database
	ctx, stop := context.WithCancel(context.Background())
	keys := database + ".key"
	if err := os.WriteFile(keys, []byte(secret.NewKey()), 0o600); err != nil {
		t.Fatal(err)
	}
	read, write := io.Pipe()
	done := make(chan int, 1)
	var errOut bytes.Buffer
	go func() {
		status := run(ctx, []string{"serve", "--listen=127.0.0.1:0", "--allow-private-targets", "--allow-http-targets",
			"--secrets-key-file=" + keys, flag}, strings.NewReader(""), write, &errOut)
		_ = write.CloseWithError(fmt.Errorf("the service ended with status %d", status))
		done <- status
	}()
	t.Cleanup(func() {
		stop()
		if status := <-done; status != 0 {
			t.Errorf("the service ended with status %d: %s", status, errOut.String())
		}
	})
	lines := bufio.NewScanner(read)
	for lines.Scan() && url == "" {
		_, url, _ = strings.Cut(lines.Text(), "listening on ")
	}
	go func() { _, _ = io.Copy(io.Discard, read) }()
	if url == "" {
		t.Fatalf("the service does not listen: %v", lines.Err())
	}
	for _, args := range [][]string{{"accounts", "create", "ann@example.com"}, {"keys", "create", "ann@example.com", "--json"}} {
		var out bytes.Buffer
		if status := run(ctx, append(args, flag, "--secrets-key-file="+keys), strings.NewReader(""), &out, &out); status != 0 {
			t.Fatalf("%v ended with status %d: %s", args, status, out.String())
		}
		key = regexp.MustCompile(`sk_\w{43}`).FindString(out.String())
	}
	return url, key
}

var changing = regexp.MustCompile(`(?P<id>[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})` +
	`|(?P<secret>whsec_[0-9A-Za-z+/]{43}=)|(?P<invite>inv_[0-9A-Za-z]{43})|(?P<key>sk_[0-9A-Za-z]{43})|(?P<prefix>sk_[0-9A-Za-z]{6})` +
	`|(?P<time>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{6})?Z)|(?P<duration>\d+\.\d s)\b|(?P<size>\d+ bytes)\b`)

// steady gives what differs from run to run a name.
func (s *script) steady(printed string) string {
	printed = strings.ReplaceAll(printed, s.directory, "$dir")
	if s.url != "" {
		printed = strings.ReplaceAll(printed, s.url, "$url")
	}
	return changing.ReplaceAllStringFunc(printed, func(value string) string {
		if name, ok := s.names[value]; ok {
			return name
		}
		kind := ""
		for i, match := range changing.FindStringSubmatch(value)[1:] {
			if match != "" {
				kind = changing.SubexpNames()[i+1]
			}
		}
		s.counts[kind]++
		name := fmt.Sprintf("<%s %d>", kind, s.counts[kind])
		s.names[value], s.values[name] = name, value
		return name
	})
}

// difference shows the lines from the first that differs.
func difference(want, got string) string {
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	at := 0
	for at < len(w) && at < len(g) && w[at] == g[at] {
		at++
	}
	from := func(lines []string) string { return strings.Join(lines[at:min(at+12, len(lines))], "\n") }
	return fmt.Sprintf("line %d is\n%s\n\nwant\n%s", at+1, from(g), from(w))
}
