package bench

import (
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "write what is drawn into testdata")

// golden compares text with a file of testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s is now\n%s\nwant\n%s", name, got, want)
	}
}

// sampleReport is a report with all there is to show.
func sampleReport() *Report {
	var fast, slow []float64
	for i := range 1000 {
		fast = append(fast, 0.4+float64(i*i)/400_000)
		slow = append(slow, 3+float64(i*i*i)/2_000_000)
	}
	known := map[string]float64{}
	rows := []*WorkloadRow{
		{Name: "ceiling", About: "a bare client", Runs: []Result{{
			Figures: []Figure{{Name: "herd", Label: "herd, requests", Unit: "/s", Value: 21_340},
				{Name: "steady_p99", Label: "steady late, p99", Unit: "ms", Value: 2.8}},
			Latencies: []Curve{newCurve("ceiling steady", fast)},
			Protocol:  "HTTP/1.1",
		}}},
		{Name: "herd", About: "due at once", Runs: []Result{{
			Figures: []Figure{
				{Name: "throughput", Label: "jobs", Unit: "/s", Value: 16_005, Against: "ceiling/herd", Mark: "0.75"},
				{Name: "p90", Label: "late, p90", Unit: "ms", Value: 3, Detail: true},
			},
			Latencies: []Curve{newCurve("herd", slow), newCurve("of nothing", nil)},
			Protocol:  "HTTP/1.1",
			Notes:     []string{"the first of two"},
			Problems:  []string{"2 of 10,000 jobs did not arrive"},
		}}},
		{Name: "slow", About: "targets that hang", Skipped: "needs many loopback addresses"},
		{Name: "cost", About: "what a job takes", Runs: []Result{{Figures: []Figure{
			{Name: "cpu", Label: "service's CPU a job", Unit: "µs", Value: 98.4, Mark: "110 µs"},
			{Name: "bytes", Label: "job with its logs on disk", Unit: "bytes", Value: 1456.2},
		}}}},
	}
	for _, row := range rows {
		row.summarise(known)
	}
	return &Report{
		Punctual: "1.2.3", Go: "go1.26", Date: time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC),
		Machine: Machine{System: "linux/amd64", Processors: 2, Processor: "Fast & Good <x>", MemoryMiB: 8192, Filesystem: "tmpfs",
			Load: 1.5},
		Settings: Settings{Workloads: []string{"ceiling", "herd", "slow", "cost"}, Runs: 3, Sizes: Full(), Counts: new(Full()).counts(),
			Store: "sqlite", LeadSeconds: 10, BodyBytes: bodyBytes},
		Workloads: rows, Problems: problemsOf(rows[1]),
	}
}

func TestTable(t *testing.T) {
	t.Parallel()
	r := sampleReport()
	text := heading(r) + tableHead()
	for _, row := range r.Workloads {
		text += tableRows(row)
	}
	text += afterword(r)
	golden(t, "table.txt", text)
	for line := range strings.Lines(text) {
		if n := len([]rune(strings.TrimSuffix(line, "\n"))); n > 100 {
			t.Errorf("a line has %d characters: %s", n, line)
		}
	}
}

func TestTextPlot(t *testing.T) {
	t.Parallel()
	golden(t, "plot.txt", textPlot(sampleReport().curves()))
	if got := textPlot(nil); got != "" {
		t.Errorf("without curves the plot is %q", got)
	}
}

func TestTextPlotOfExtremes(t *testing.T) {
	t.Parallel()
	for _, times := range [][]float64{{0}, {-5, -1}, {1e-9}, {1e9}, {1, 1e6}} {
		text := textPlot([]Curve{newCurve("extreme", times)})
		if !strings.Contains(text, "extreme") || strings.Count(text, "┃") != 2 {
			t.Errorf("the plot of %v is %s", times, text)
		}
	}
}

func TestSVGPlot(t *testing.T) {
	t.Parallel()
	text := svgPlot(sampleReport())
	golden(t, "plot.svg", text)
	decoder := xml.NewDecoder(strings.NewReader(text))
	for {
		if _, err := decoder.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

func TestReportAsJSON(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "report.json")
	r := sampleReport()
	for _, row := range r.Workloads { // one curve shows the shape
		for i := range row.Runs {
			row.Runs[i].Latencies = row.Runs[i].Latencies[:min(1, len(row.Runs[i].Latencies))]
		}
	}
	if err := r.writeJSON(file); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "report.json", string(text))
	if err := r.writeJSON(filepath.Join(t.TempDir(), "no", "such")); err == nil || !strings.Contains(err.Error(), "--json") {
		t.Errorf("a file that can't be written gives %v", err)
	}
}

func TestFormatValue(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		value float64
		unit  string
		want  string
	}{
		{12.34, "/s", "12.3/s"}, {1234.5, "/s", "1,235/s"}, {0.123, "ms", "0.12 ms"}, {12.34, "ms", "12.3 ms"}, {1234, "ms", "1,234 ms"},
		{2.5, "x", "2.50 x"}, {1e6, "", "1,000,000"}, {999.6, "bytes", "1,000 bytes"}, {0, "s", "0.00 s"},
	} {
		if got := formatValue(c.value, c.unit); got != c.want {
			t.Errorf("%v of %q is written %q, not %q", c.value, c.unit, got, c.want)
		}
	}
	for n, want := range map[int]string{0: "0", 7: "7", 999: "999", 1000: "1,000", 12345: "12,345", 123456: "123,456", 1234567: "1,234,567",
		-5: "-5", -1234: "-1,234", -123456: "-123,456"} {
		if got := thousands(n); got != want {
			t.Errorf("%d is written %q, not %q", n, got, want)
		}
	}
}
