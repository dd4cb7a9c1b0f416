package main

import (
	"bytes"
	"encoding/xml"
	"io"
	"os"
	"strings"
	"testing"
	"time"
)

func TestDraw_ShowsLinesWhenTheyCame(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	if err := draw(&out, "$ x", []line{{"a <b> & c", time.Second}, {"", 2 * time.Second}, {"end", 4 * time.Second}}); err != nil {
		t.Fatal(err)
	}
	wellFormed(t, out.String())
	for _, want := range []string{"a &lt;b&gt; &amp; c</text>", "@keyframes a0{0%{opacity:0}10.00%{opacity:1}}",
		"@keyframes a2{0%{opacity:0}40.00%{opacity:1}}", "animation:10.0s"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the picture has no %q:\n%s", want, out.String())
		}
	}
}

// The picture in the README is from a real run, and nothing in it names a machine.
func TestRecording_IsOfTheDemo(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/images/demo.svg")
	if err != nil {
		t.Fatal(err)
	}
	wellFormed(t, string(text))
	if !strings.Contains(string(text), "$ punctual demo") || strings.Contains(string(text), os.TempDir()+"/") ||
		strings.Count(string(text), "<text") < 12 {
		t.Error("docs/images/demo.svg is not a recording of the demo; run make recording")
	}
}

func wellFormed(t *testing.T, text string) {
	t.Helper()
	for decoder := xml.NewDecoder(strings.NewReader(text)); ; {
		if _, err := decoder.Token(); err == io.EOF {
			return
		} else if err != nil {
			t.Fatalf("not XML: %v", err)
		}
	}
}
