package main

import (
	"fmt"
	"strings"
	"testing"
)

func TestClip_IsBounded(t *testing.T) {
	var c clip
	c.add("the beginning\n")
	for i := range 200_000 {
		c.add(fmt.Sprintf("line %d of many lines\n", i))
	}
	c.add("the end\n")
	if size := c.first.Len() + cap(c.last); size > 3*(keepFirst+keepLast) {
		t.Errorf("%d bytes are kept", size)
	}
	text := c.text()
	if !strings.HasPrefix(text, "the beginning\n") || !strings.HasSuffix(text, "the end\n") ||
		!strings.Contains(text, "bytes are left out") {
		t.Error("the beginning or the end is missing")
	}
}

func TestClip_ShowsTheEndOfALog(t *testing.T) {
	var c clip
	c.add("=== RUN   TestX\n")
	for i := range 100 {
		c.add(fmt.Sprintf("    x_test.go:1: line %d\n", i))
	}
	c.add("--- FAIL: TestX (0.01s)\n")
	lines := c.lines(4)
	want := "[97 lines before are left out]|    x_test.go:1: line 97|    x_test.go:1: line 98|    x_test.go:1: line 99"
	if got := strings.Join(lines, "|"); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestClip_ShowsTheGoroutinesOfTheRepository(t *testing.T) {
	var c clip
	c.add("    x_test.go:1: before\nSIGQUIT: quit\nPC=0x1 m=0 sigcode=0\n\ngoroutine 0 gp=0x1 m=0 [idle]:\nruntime.futex()\n\n")
	for i := range 300 {
		c.add(fmt.Sprintf("goroutine %d [IO wait]:\nnet/http.(*conn).serve()\n\t/go/net/http/server.go:1\n\n", i+10))
	}
	c.add("goroutine 6 [select]:\n" + module + "/x.Serve()\n\t/src/x.go:7\n\n")
	c.add("goroutine 7 gp=0x2 m=nil [select, 5 minutes]:\nruntime.gopark()\n\t/go/proc.go:1 fp=0x1 sp=0x2 pc=0x3\n" + module +
		"/x.TestHangs()\n\t/src/x_test.go:7 fp=0x1 sp=0x2 pc=0x3\n\n")
	c.add("rax    0xca\nrip    0x4ce721\n")
	lines := c.lines(60)
	text := strings.Join(lines, "\n")
	want := `    x_test.go:1: before
SIGQUIT: quit
goroutine 7 [select, 5 minutes]:
` + module + `/x.TestHangs()
	/src/x_test.go:7

goroutine 6 [select]:
` + module + `/x.Serve()
	/src/x.go:7

[301 goroutines outside the repository's code are left out]`
	if text != want {
		t.Errorf("shown is:\n%s\nwant:\n%s", text, want)
	}
}

func TestClip_CutsLongLines(t *testing.T) {
	var c clip
	c.add(strings.Repeat("x", 100_000) + "\n")
	if line := c.lines(10)[0]; len(line) > 2100 || !strings.HasSuffix(line, "[98000 further bytes]") {
		t.Errorf("a line of %d bytes is shown", len(line))
	}
}
