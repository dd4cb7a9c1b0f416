package pages

import (
	"cmp"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/test/e2e/harness"
	"github.com/punctual-dev/punctual/test/pgtest"
)

func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }

const (
	jobsByDefault = 600
	password      = "correct horse battery"
)

func size(name string, standard int) int {
	n, err := strconv.Atoi(os.Getenv(name))
	if err != nil {
		return standard
	}
	return n
}

func TestPages_OnSQLite(t *testing.T) {
	path := os.Getenv("PUNCTUAL_PAGES_SQLITE")
	if path == "" {
		path = filepath.Join(t.TempDir(), "punctual.db")
	}
	measurePages(t, "sqlite:"+path, func() database {
		_ = os.Remove(path + ".numbers") // a copy of a database has no such file
		return openSQLite(t, path)
	})
}

func TestPages_OnPostgreSQL(t *testing.T) {
	url := os.Getenv("PUNCTUAL_PAGES_POSTGRES")
	if url == "" {
		url = pgtest.URL(t)
	}
	measurePages(t, url, func() database { return openPostgres(t, url) })
}

// measurePages fills a database unless it is filled, and reads every address.
func measurePages(t *testing.T, url string, open func() database) {
	s := harness.Prepare(t, harness.Database(url), harness.Flag("retention", "0"),
		harness.Flag("metrics-listen", cmp.Or(os.Getenv("PUNCTUAL_PAGES_METRICS"), "127.0.0.1:0")))
	const email = "large@example.com"
	known := strings.Contains(s.Command(t, "accounts", "list"), email)
	if !known {
		s.Command(t, "accounts", "create", email, "--operator")
		s.SetPassword(t, email, password)
	}
	_, key := s.NewKey(t, email)
	if !known {
		if err := s.Run(); err != nil {
			t.Fatal(err)
		}
		prototypes(t, &harness.Account{Client: s.Client(t, key), Email: email})
		s.Stop()
		db := open()
		fill(t, db, email, size("PUNCTUAL_PAGES_JOBS", jobsByDefault))
		db.close()
	}
	if err := s.Run(); err != nil {
		t.Fatal(err)
	}
	v := visit(t, s, email, key, open)
	v.measure()
}

// visitor reads pages as a person who is signed in, and lists with a key.
type visitor struct {
	t      *testing.T
	s      *harness.Service
	client http.Client
	key    string
	server func() time.Duration // CPU of the database's server until now
}

func visit(t *testing.T, s *harness.Service, email, key string, open func() database) *visitor {
	jar, _ := cookiejar.New(nil)
	v := &visitor{t: t, s: s, key: key, client: http.Client{Jar: jar,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL()+"/sign-in",
		strings.NewReader(url.Values{"email": {email}, "password": {password}}.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	request.Header.Set("Origin", s.URL())
	response, err := v.client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	if response.StatusCode != http.StatusSeeOther {
		t.Fatalf("signing in: %s", response.Status)
	}
	v.server = serverCPU(s.DatabaseURL, open)
	return v
}

// read returns the status, the body and the time of a response.
func (v *visitor) read(path string) (int, string, time.Duration) {
	v.t.Helper()
	request, err := http.NewRequestWithContext(v.t.Context(), http.MethodGet, v.s.URL()+path, nil)
	if err != nil {
		v.t.Fatal(err)
	}
	request.Header.Set("Accept", "text/html")
	if strings.HasPrefix(path, "/api/") {
		request.Header.Set("Authorization", "Bearer "+v.key)
		request.Header.Set("Accept", "application/json")
	}
	began := time.Now()
	response, err := v.client.Do(request)
	if err != nil {
		v.t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		v.t.Fatal(err)
	}
	return response.StatusCode, string(body), time.Since(began)
}

// figures are those of an address.
type figures struct {
	name            string
	median, most    time.Duration
	service, server time.Duration // CPU a request
	bytes           int
}

func (v *visitor) measure() {
	only := regexp.MustCompile(os.Getenv("PUNCTUAL_PAGES_ONLY"))
	times := size("PUNCTUAL_PAGES_TIMES", 3)
	var all []figures
	for _, a := range v.addresses() {
		if !only.MatchString(a.name) {
			continue
		}
		status, body, _ := v.read(a.path)
		if status != http.StatusOK || !strings.Contains(body, a.has) {
			v.t.Errorf("%s: %s responds with %d, without %q:\n%.400s", a.name, a.path, status, a.has, body)
			continue
		}
		took := make([]time.Duration, times)
		service, server := processCPU(v.s.PID()), v.server()
		for i := range took {
			_, _, took[i] = v.read(a.path)
		}
		service, server = processCPU(v.s.PID())-service, v.server()-server
		slices.Sort(took)
		all = append(all, figures{a.name, took[times/2], took[times-1],
			service / time.Duration(times), server / time.Duration(times), len(body)})
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%-50s %9s %9s %9s %9s %9s\n", "page", "median", "most", "CPU", "database", "bytes")
	for _, f := range all {
		fmt.Fprintf(&b, "%-50s %9.1f %9.1f %9.1f %9.1f %9d\n", f.name, ms(f.median), ms(f.most), ms(f.service), ms(f.server), f.bytes)
	}
	v.t.Logf("%s, milliseconds:\n%s", strings.SplitN(v.s.DatabaseURL, ":", 2)[0], b.String())
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
