package bench

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"
)

func TestOutcomeTellsWhatWasWrong(t *testing.T) {
	t.Parallel()
	due := time.Now()
	make := func() *round {
		r := newRound(100, 3)
		for i := range r.due {
			r.due[i] = due.Add(time.Duration(i) * time.Second)
		}
		return r
	}
	on := func(r *round, number int64, late time.Duration) { r.arrive(number, r.due[number-100].Add(late)) }

	good := make()
	on(good, 100, time.Millisecond)
	on(good, 101, 2*time.Millisecond)
	on(good, 102, 0)
	o := good.outcome(nil)
	if o.problem(false) != "" || len(o.late) != 3 || good.distinct.Load() != 3 {
		t.Errorf("of a good round it says %q: %+v", o.problem(false), o)
	}
	if got := o.throughput(); got != 1.5 {
		t.Errorf("the throughput is %v, not 3 jobs in 2 seconds", got)
	}

	bad := make()
	on(bad, 100, -3*time.Microsecond)
	on(bad, 102, time.Millisecond)
	on(bad, 102, time.Second)
	o = bad.outcome(nil)
	want := "1 of 3 jobs did not arrive, and 1 of 3 jobs arrived more than once, and 1 of 3 jobs arrived before they were due, by up to 3µs"
	if got := o.problem(false); got != want {
		t.Errorf("it says %q, not %q", got, want)
	}
	if got := o.problem(true); strings.Contains(got, "more than once") {
		t.Errorf("after a crash, jobs may arrive twice: %q", got)
	}
	if o := bad.outcome(func(i int) bool { return i == 2 }); o.planned != 1 || o.missing != 0 || o.early != 0 || o.duplicates != 1 {
		t.Errorf("of the last job alone it says %+v", o)
	}
}

func TestProblemsMakeTheBenchFail(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	b := &bench{Config: Config{Out: &out}, progress: newProgress(&out, true)}
	defer b.progress.close()
	err := b.conclude(&Report{Problems: []string{"herd: of a herd, 1 of 3 jobs did not arrive"}})
	if err == nil || err.Error() != "not all was as promised: herd: of a herd, 1 of 3 jobs did not arrive" {
		t.Errorf("the bench ends with %v", err)
	}
	if strings.Contains(out.String(), "Every job arrived") {
		t.Error("it says that all was well")
	}
	if err := b.conclude(&Report{}); err != nil {
		t.Errorf("without problems it ends with %v", err)
	}
}

func TestUntil(t *testing.T) {
	t.Parallel()
	if ok, err := until(t.Context(), time.Now(), func() bool { return true }); !ok || err != nil {
		t.Errorf("what is there already gives %v, %v", ok, err)
	}
	if ok, err := until(t.Context(), time.Now(), func() bool { return false }); ok || err != nil {
		t.Errorf("what does not come gives %v, %v", ok, err)
	}
	ctx, stop := contextThatEnds(t)
	stop()
	if _, err := until(ctx, time.Now().Add(time.Hour), func() bool { return false }); !errors.Is(err, ctx.Err()) {
		t.Errorf("after an interruption it gives %v", err)
	}
}

func TestValidate(t *testing.T) {
	t.Parallel()
	good := func() Config { return Config{Runs: 1, Sizes: Full()} }
	for name, c := range map[string]struct {
		change func(*Config)
		want   string
	}{
		"good":       {func(*Config) {}, ""},
		"workload":   {func(c *Config) { c.Workloads = []string{"herd", "heard"} }, `there is no "heard"; there are ceiling,`},
		"runs":       {func(c *Config) { c.Runs = 0 }, "--runs"},
		"jobs":       {func(c *Config) { c.Sizes.Jobs = 9 }, "--n"},
		"rate":       {func(c *Config) { c.Sizes.Rate = 0.5 }, "--rate"},
		"seconds":    {func(c *Config) { c.Sizes.Seconds = 0 }, "--seconds"},
		"backlog":    {func(c *Config) { c.Sizes.Backlog = 1 }, "--backlog"},
		"workers":    {func(c *Config) { c.Sizes.Workers = 0 }, "--workers"},
		"two places": {func(c *Config) { c.DatabaseURL, c.BaseURL = "x", "http://127.0.0.1" }, "exclude each other"},
		"key alone":  {func(c *Config) { c.APIKey = "k" }, "--api-key goes with"},
		"elsewhere": {func(c *Config) { c.BaseURL, c.APIKey, c.AuthorityFile = "http://example.com", "k", "f" },
			"not on this machine"},
		"no url":         {func(c *Config) { c.BaseURL = "127.0.0.1:8080" }, "not understood"},
		"no key":         {func(c *Config) { c.BaseURL = "http://localhost:8080" }, "--api-key"},
		"no authority":   {func(c *Config) { c.BaseURL, c.APIKey = "http://[::1]:8080", "k" }, "--authority"},
		"running is all": {func(c *Config) { c.BaseURL, c.APIKey, c.AuthorityFile = "http://127.0.0.1:8080", "k", "f" }, ""},
	} {
		config := good()
		c.change(&config)
		err := config.Validate()
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: Validate gives %v, want %q", name, err, c.want)
		}
	}
}

func TestReadVitals(t *testing.T) {
	t.Parallel()
	v := readVitals([]byte("# HELP process_cpu_seconds_total x\nprocess_cpu_seconds_total 1.25\nprocess_resident_memory_bytes 2.5e+07\n" +
		"punctual_jobs_finished_total{outcome=\"cancelled\"} 9\npunctual_jobs_finished_total{outcome=\"completed\"} 42\n"))
	if v.cpu != 1250*time.Millisecond || v.resident != 25e6 || v.completed != 42 {
		t.Errorf("the vitals are %+v", v)
	}
}

func TestBodiesAreOfOneSize(t *testing.T) {
	t.Parallel()
	for _, number := range []int64{1, -1, 123456789, -1e15} {
		body := appendBody(nil, number, bodyBytes)
		if len(body) != bodyBytes {
			t.Errorf("the body of job %d has %d bytes", number, len(body))
		}
		if got, ok := readNumber(body); !ok || got != number {
			t.Errorf("of job %d the target reads %d, %v", number, got, ok)
		}
	}
	for _, body := range []string{"", "{}", `{"job":`, `{"job":12`, `{"job":"x",`, `{"jab":1,"x":2}`,
		`{"job":99999999999999999999,"x":2}`} {
		if number, ok := readNumber([]byte(body)); ok {
			t.Errorf("of %s the target reads %d", body, number)
		}
	}
}
