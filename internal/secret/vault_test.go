package secret

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/audit"
	"github.com/punctual-dev/punctual/internal/execute"
	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/identity"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/store"
)

// shelf is a store of secrets in memory.
type shelf struct {
	mu      sync.Mutex
	secrets map[string]*identity.HeaderSecret
	uses    int
	err     error
	sealed  map[job.TokenHash][]byte
}

func (s *shelf) CompletionSeal(_ context.Context, token job.TokenHash, sealed []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sealed == nil {
		s.sealed = map[job.TokenHash][]byte{}
	}
	s.sealed[token] = sealed
	return s.err
}

func (s *shelf) SecretPut(_ context.Context, h *identity.HeaderSecret, _ store.PutIf) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, known := s.secrets[h.Name]
	s.secrets[h.Name] = h
	return !known, s.err
}

func (s *shelf) SecretsNamed(_ context.Context, _ int64, names []string) (found []*identity.HeaderSecret, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, name := range names {
		if h := s.secrets[name]; h != nil {
			found = append(found, h)
		}
	}
	return found, s.err
}

func (s *shelf) SecretList(context.Context, int64) ([]*identity.HeaderSecret, error) {
	return nil, s.err
}

func (s *shelf) SecretDelete(context.Context, int64, string, int) (int, error) { return s.uses, s.err }

// network responds to requests.
type network struct {
	mu       sync.Mutex
	requests []execute.Request
	respond  func(ctx context.Context, r execute.Request) job.Outcome
}

func (n *network) Do(ctx context.Context, r execute.Request) job.Outcome {
	n.mu.Lock()
	n.requests = append(n.requests, r)
	n.mu.Unlock()
	return n.respond(ctx, r)
}

func (n *network) to(url string) (found []execute.Request) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, r := range n.requests {
		if r.URL == url {
			found = append(found, r)
		}
	}
	return found
}

const (
	target = "https://api.example.com/x"
	login  = "https://login.example.com/token"
)

var owner = job.Owner{Number: 7, ID: uuid.MustParse("01a05e38-6689-7c3e-9d41-0b6f2a5c8e17")}

type world struct {
	*testing.T
	vault *Vault
	shelf *shelf
	net   *network
}

func newWorld(t *testing.T, respond func(context.Context, execute.Request) job.Outcome) *world {
	w := &world{T: t, shelf: &shelf{secrets: map[string]*identity.HeaderSecret{}}, net: &network{respond: respond}}
	w.vault = New(Config{Records: w.shelf, Keys: keyring(t, NewKey()), Client: w.net, Now: time.Now})
	return w
}

func (w *world) put(name, body string) {
	w.Helper()
	if _, _, err := w.vault.Put(w.Context(), owner, name, rawjson.Value(body), store.PutAlways, audit.Actor{}); err != nil {
		w.Fatal(err)
	}
}

func (w *world) do(values ...string) job.Outcome {
	r := execute.Request{Method: "GET", URL: target, Timeout: 30 * time.Second}
	for _, v := range values {
		r.Header = append(r.Header, execute.Field{Name: "x-key", Value: v})
	}
	return w.vault.Do(w.Context(), owner, r, Proof{})
}

func reply(status int, body string) job.Outcome {
	return job.Outcome{Response: &job.Response{Status: status, Header: http.Header{}, Body: []byte(body)}}
}

func TestVault_ReplacesPlaceholdersAndMasksEchoes(t *testing.T) {
	w := newWorld(t, func(_ context.Context, r execute.Request) job.Outcome { return reply(200, r.Header[0].Value) })
	w.put("a", `{"value":"value-of-a","hosts":["API.example.com","b.example"]}`)
	w.put("b", `{"value":"value-of-b","hosts":["api.example.com"]}`)
	o := w.do("Bearer {{secret.a}}/{{secret.b}} {{{{x", "plain")
	sent := w.net.requests[0]
	if got := sent.Header[0].Value; got != "Bearer value-of-a/value-of-b {{x" {
		t.Errorf("sent %q", got)
	}
	if !slices.Equal(sent.Bound[0], []string{"api.example.com"}) || len(sent.Bound) != 1 {
		t.Errorf("bound to %v", sent.Bound)
	}
	if got := string(o.Response.Body); got != "Bearer ***/*** {{x" {
		t.Errorf("stored %q", got)
	}
}

func TestVault_SendsNothingWithoutItsSecret(t *testing.T) {
	w := newWorld(t, func(context.Context, execute.Request) job.Outcome { return reply(200, "") })
	w.put("elsewhere", `{"value":"value-of-a","hosts":["b.example"]}`)
	w.put("damaged", `{"value":"value-of-a","hosts":["api.example.com"]}`)
	w.put("foreign", `{"value":"value-of-a","hosts":["api.example.com"]}`)
	w.shelf.secrets["damaged"].Hosts = []string{"api.example.com", "evil.example"}
	value, _ := keyring(t, NewKey()).Seal(headerRecord(owner.ID, "foreign", []string{"api.example.com"}, false), `{"value":"x"}`)
	w.shelf.secrets["foreign"].Value = value
	for name, want := range map[string]string{
		"none":      "the secret none does not exist; nothing was sent",
		"elsewhere": "the secret elsewhere may not be sent to api.example.com; nothing was sent",
		"damaged":   "the secret damaged can't be decrypted: its encrypted value is damaged, or belongs to another record; nothing was sent",
		"foreign": "the secret foreign can't be decrypted: it is encrypted with the key " + keyOf(value) +
			", which the file of --secrets-key-file does not have; nothing was sent",
	} {
		o := w.do("{{secret." + name + "}}")
		if o.Failure == nil || o.Failure.Kind != job.KindSecret || o.Failure.Message != want {
			t.Errorf("%s: %+v, want %s", name, o.Failure, want)
		}
	}
	if o := w.do(strings.Repeat("{{secret.damaged}}", 33)); o.Failure == nil || o.Failure.Kind != job.KindSecret {
		t.Errorf("33 placeholders: %+v", o.Failure)
	}
	w.put("long", `{"value":"`+strings.Repeat("x", 8<<10)+`","hosts":["api.example.com"]}`)
	if o := w.do(strings.Repeat("{{secret.long}}", 8)); o.Failure == nil || o.Failure.Kind != job.KindTooLarge {
		t.Errorf("64 KiB of values: %+v", o.Failure)
	}
	w.shelf.err = errors.New("away")
	if o := w.do("{{secret.damaged}}"); o.Failure == nil || o.Failure.Kind != job.KindInterrupted {
		t.Errorf("without the store: %+v", o.Failure)
	}
	if len(w.net.requests) > 0 {
		t.Errorf("%d requests were sent", len(w.net.requests))
	}
}

// TestVault_ReplacedByAnEarlierVersion: a value that a version without http has put in
// place of one for http is sent over https only, and is encrypted anew as such.
func TestVault_ReplacedByAnEarlierVersion(t *testing.T) {
	w := newWorld(t, func(context.Context, execute.Request) job.Outcome { return reply(200, "") })
	hosts := []string{"api.example.com"}
	w.put("old", `{"value":"value-of-a","hosts":["api.example.com"],"http":true}`)
	stored := w.shelf.secrets["old"]
	sendHTTP := func() *job.Failure {
		return w.vault.Do(w.Context(), owner, execute.Request{
			Method: "GET", URL: "http://api.example.com/x", Timeout: time.Second,
			Header: []execute.Field{{Name: "x-key", Value: "{{secret.old}}"}},
		}, Proof{}).Failure
	}
	if f := sendHTTP(); f != nil {
		t.Fatalf("as made, over http: %+v", f)
	}
	var err error
	if stored.Value, err = w.vault.Keys.Seal(headerRecord(owner.ID, "old", hosts, false), `{"value":"value-of-b"}`); err != nil {
		t.Fatal(err)
	}
	if o := w.do("{{secret.old}}"); o.Failure != nil || w.net.requests[len(w.net.requests)-1].Header[0].Value != "value-of-b" {
		t.Errorf("replaced, over https: %+v", o.Failure)
	}
	if f := sendHTTP(); f == nil || f.Kind != job.KindSecret || !strings.Contains(f.Message, "over https only") {
		t.Errorf("replaced, over http: %+v", f)
	}
	e := store.Encrypted{Account: owner, Name: "old", Hosts: hosts, HTTP: true, Value: stored.Value}
	text, record, err := w.vault.Keys.openStored(&e)
	if err != nil || text != `{"value":"value-of-b"}` || record != headerRecord(owner.ID, "old", hosts, false) {
		t.Errorf("opened to be encrypted anew: %q, %q, %v", text, record, err)
	}
	// What was made for https does not become one for http, and the other way round.
	e.HTTP = false
	if e.Value, err = w.vault.Keys.Seal(headerRecord(owner.ID, "old", hosts, true), "x"); err != nil {
		t.Fatal(err)
	}
	if _, _, err := w.vault.Keys.openStored(&e); !errors.Is(err, errDamaged) {
		t.Errorf("a value for http, stored as one for https: %v", err)
	}
}

func TestVault_RefusesSpecs(t *testing.T) {
	w := newWorld(t, nil)
	long := strings.Repeat("x", 8193)
	for body, want := range map[string]string{
		`[]`: "#", `{}`: "#/hosts #/value", `{"value":"v","hosts":null}`: "#/hosts",
		`{"value":5,"hosts":["a.example"]}`: "#/value", `{"value":"","hosts":["a.example"]}`: "#/value",
		`{"value":"` + long + `","hosts":["a.example"]}`: "#/value", `{"value":"a\nb","hosts":["a.example"]}`: "#/value",
		`{"value":"é","hosts":["a.example"]}`: "#/value", `{"value":" a","hosts":["a.example"]}`: "#/value",
		`{"value":"v","hosts":"a.example"}`: "#/hosts", `{"value":"v","hosts":[]}`: "#/hosts",
		`{"value":"v","hosts":[5,"a.example:443","https://a.example","*.example","a,b"]}`:                               "#/hosts/0 #/hosts/1 #/hosts/2 #/hosts/3 #/hosts/4",
		`{"value":"v","hosts":["a.example"],"host":"x"}`:                                                                "#/host",
		`{"value":"v","hosts":["a.example"],"zz":1}`:                                                                    "#/zz",
		`{"hosts":["a.example"],"oauth2":{"token_url":"https://a.example","client_id":"a","client_secret":"b","zz":1}}`: "#/oauth2/zz",
		`{"s3cr3t-v4lue":"v"}`:                                "# #/hosts #/value",
		`{"hosts":["a.example"],"oauth2":{"s3cr3t":1}}`:       "#/oauth2 #/oauth2/token_url #/oauth2/client_id #/oauth2/client_secret",
		`{"value":"v","hosts":["a.example"],"http":"s3cr3t"}`: "#/http",
		`{"value":"v","oauth2":{},"hosts":["a.example"]}`:     "#/oauth2/token_url #/oauth2/client_id #/oauth2/client_secret #/value #/oauth2",
		`{"oauth2":5,"hosts":["a.example"]}`:                  "#/oauth2",
		`{"oauth2":{"token_url":"http://a.example","client_id":5,"client_secret":"` + long +
			`","scpe":1},"hosts":["a.example"]}`: "#/oauth2/token_url #/oauth2/client_id #/oauth2/client_secret #/oauth2/scpe",
	} {
		_, _, err := w.vault.Put(t.Context(), owner, "a", rawjson.Value(body), store.PutAlways, audit.Actor{})
		var pointers []string
		for _, p := range fault.ProblemsOf(err) {
			pointers = append(pointers, p.Pointer)
		}
		if got := strings.Join(pointers, " "); got != want {
			t.Errorf("%.60s: %s, want %s", body, got, want)
		}
		if err != nil && (strings.Contains(err.Error(), "xxxxx") || strings.Contains(err.Error(), "s3cr3t")) {
			t.Errorf("%.60s: the error repeats a value", body)
		}
	}
	for _, name := range []string{"", "a b", "ä", "-a", strings.Repeat("a", 65)} {
		if _, _, err := w.vault.Put(t.Context(), owner, name, rawjson.Value(`{"value":"v","hosts":["a.example"]}`), store.PutAlways,
			audit.Actor{}); fault.CodeOf(err) != fault.Invalid {
			t.Errorf("the name %q: %v", name, err)
		}
	}
	for text, want := range map[string]string{"::1": "::1", "[::1]": "::1", "127.0.0.1": "127.0.0.1",
		"Bücher.example": "xn--bcher-kva.example", "A.example.": "a.example"} {
		if got, why := job.ReadHost(text); got != want || why != "" {
			t.Errorf("the host %q is read as %q, %s", text, got, why)
		}
	}
}

// tokenServer responds to requests for tokens with my-token-1, my-token-2, … and to others as
// target does.
func tokenServer(expires string, target func(token string) job.Outcome) func(context.Context, execute.Request) job.Outcome {
	var mu sync.Mutex
	n := 0
	return func(_ context.Context, r execute.Request) job.Outcome {
		if r.URL != login {
			return target(r.Header[0].Value)
		}
		mu.Lock()
		defer mu.Unlock()
		n++
		return reply(200, fmt.Sprintf(`{"access_token":"my-token-%d","token_type":"bearer"%s}`, n, expires))
	}
}

const client = `{"hosts":["api.example.com"],"oauth2":{"token_url":"` + login +
	`","client_id":"my id","client_secret":"hush/hush","scope":"a b"}}`

func TestTokens_AreKeptUntilAMinuteBeforeTheyEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, tokenServer(`,"expires_in":3600`, func(token string) job.Outcome { return reply(200, token) }))
		defer w.vault.Close()
		w.put("o", client)
		want := func(when string, n int) {
			t.Helper()
			if o := w.do("{{secret.o}}"); o.Response == nil || string(o.Response.Body) != "***" {
				t.Errorf("%s: %+v", when, o)
			}
			if got := len(w.net.to(login)); got != n {
				t.Errorf("%s: %d tokens were fetched, want %d", when, got, n)
			}
		}
		want("at first", 1)
		time.Sleep(58 * time.Minute)
		want("two minutes before the end", 1)
		time.Sleep(time.Minute + time.Second)
		want("within the last minute", 2)
		w.put("o", client)
		time.Sleep(time.Millisecond)
		want("of the new version", 3)
		r := w.net.to(login)[0]
		if got := string(r.Body); got != "grant_type=client_credentials&scope=a+b" {
			t.Errorf("the body is %s", got)
		}
		if got := r.Header[0].Value; got != "Basic bXkraWQ6aHVzaCUyRmh1c2g=" { // my+id:hush%2Fhush
			t.Errorf("the Authorization is %s", got)
		}
		if r.FollowRedirects {
			t.Error("redirects are followed")
		}
	})
}

func TestTokens_AreFetchedOnceAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fetch := tokenServer(`,"expires_in":30`, func(token string) job.Outcome { return reply(200, "") })
		w := newWorld(t, func(ctx context.Context, r execute.Request) job.Outcome {
			time.Sleep(time.Second)
			return fetch(ctx, r)
		})
		defer w.vault.Close()
		w.put("o", client)
		var attempts sync.WaitGroup
		for range 50 {
			attempts.Go(func() { w.do("{{secret.o}}") })
		}
		attempts.Wait()
		if n := len(w.net.to(login)); n != 1 {
			t.Errorf("50 attempts fetched %d tokens", n)
		}
		w.do("{{secret.o}}")
		if n := len(w.net.to(login)); n != 2 {
			t.Errorf("a token of 30 s is kept: %d were fetched", n)
		}
	})
}

func TestTokens_AreFetchedOnceMoreOnA401(t *testing.T) {
	w := newWorld(t, tokenServer(`,"expires_in":"3600"`, func(token string) job.Outcome {
		if token == "my-token-2" {
			return reply(200, "my-token-1 my-token-2")
		}
		return reply(401, "not "+token)
	}))
	defer w.vault.Close()
	w.put("o", client)
	if o := w.do("{{secret.o}}"); o.Response == nil || o.Response.Status != 200 || string(o.Response.Body) != "*** ***" {
		t.Errorf("the outcome is %+v", o)
	}
	w.net.respond = tokenServer("", func(string) job.Outcome { return reply(401, "no") })
	o := w.do("{{secret.o}}")
	if o.Response == nil || o.Response.Status != 401 || len(w.net.to(login)) != 3 || len(w.net.to(target)) != 4 {
		t.Errorf("the outcome is %+v after %d tokens and %d requests", o, len(w.net.to(login)), len(w.net.to(target)))
	}
	w.put("plain", `{"value":"value-of-a","hosts":["api.example.com"]}`)
	w.do("{{secret.plain}}")
	if n := len(w.net.to(target)); n != 5 {
		t.Errorf("a 401 without OAuth2 is repeated: %d requests", n)
	}
}

// If the repetition comes to nothing, the response that came counts: as an attempt that
// doesn't count, the job would be sent again, also without retries.
func TestTokens_KeepThe401IfTheRequestIsNotRepeated(t *testing.T) {
	for name, test := range map[string]struct {
		failure job.Failure
		keeps   bool
	}{
		"a limit refuses it":    {job.Failure{Kind: job.KindInterrupted, Unsent: true}, true},
		"no descriptors":        {job.Failure{Kind: job.KindInterrupted, Local: true, Wait: time.Second}, true},
		"the service stops":     {job.Failure{Kind: job.KindInterrupted}, true},
		"the job is cancelled":  {job.Failure{Kind: job.KindCancelled}, false},
		"the connection closes": {job.Failure{Kind: job.KindClosed}, false},
		"it takes too long":     {job.Failure{Kind: job.KindTimeout}, false},
	} {
		w := newWorld(t, tokenServer("", func(token string) job.Outcome {
			if token == "my-token-1" {
				return reply(401, "no")
			}
			return job.Outcome{Failure: &test.failure}
		}))
		w.put("o", client)
		o := w.do("{{secret.o}}")
		if keeps := o.Response != nil && o.Response.Status == 401; keeps != test.keeps || !keeps && o.Failure.Kind != test.failure.Kind ||
			len(w.net.to(target)) != 2 {
			t.Errorf("%s: the outcome is %+v after %d requests", name, o, len(w.net.to(target)))
		}
		w.vault.Close()
	}
}

// The same if the secrets can't be read for the repetition.
func TestTokens_KeepThe401IfTheSecretsCantBeReadAgain(t *testing.T) {
	var w *world
	w = newWorld(t, tokenServer("", func(string) job.Outcome {
		w.shelf.mu.Lock()
		defer w.shelf.mu.Unlock()
		w.shelf.err = errors.New("the store is away")
		return reply(401, "no")
	}))
	defer w.vault.Close()
	w.put("o", client)
	if o := w.do("{{secret.o}}"); o.Response == nil || o.Response.Status != 401 || len(w.net.to(target)) != 1 {
		t.Errorf("the outcome is %+v after %d requests, want the 401 after 1", o, len(w.net.to(target)))
	}
}

func TestTokens_APanicFailsTheAttempt(t *testing.T) {
	w := newWorld(t, func(context.Context, execute.Request) job.Outcome { panic("unexpected response") })
	defer w.vault.Close()
	w.put("o", client)
	if o := w.do("{{secret.o}}"); o.Failure == nil || o.Failure.Kind != job.KindSecret ||
		!strings.Contains(o.Failure.Message, "the service failed; see its log") {
		t.Errorf("the outcome is %+v", o.Failure)
	}
}

func TestTokens_HostileServersFailTheAttempt(t *testing.T) {
	for name, test := range map[string]struct {
		outcome job.Outcome
		want    string
	}{
		"a failure": {job.Outcome{Failure: &job.Failure{Kind: job.KindBlocked, Message: "10.0.0.1 may not be called"}},
			"10.0.0.1 may not be called"},
		"a redirect": {reply(302, ""), "the token URL responded with status 302"},
		"an error": {reply(400, `{"error":"invalid_client","error_description":"hush/hush"}`),
			"the token URL responded with status 400 and the error invalid_client"},
		"an echo":  {reply(500, `{"error":"hush/hush"}`), "the token URL responded with status 500"},
		"a page":   {reply(200, "<html>"), "the response of the token URL has no access_token"},
		"no token": {reply(200, `{"access_token":""}`), "the response of the token URL has no access_token"},
		"a bad token": {reply(200, `{"access_token":"a\r\nHost: x"}`),
			"the access_token must have visible characters of ASCII and spaces only, as header values do"},
		"a long one": {reply(200, `{"access_token":"`+strings.Repeat("x", 17<<10)+`"}`), "the access_token must have at most 16384 bytes"},
		"a cut one": {job.Outcome{Response: &job.Response{Status: 200, Body: []byte(`{"access_token":"abc"}`), Truncated: true}},
			"the response of the token URL has no access_token"},
	} {
		w := newWorld(t, func(context.Context, execute.Request) job.Outcome { return test.outcome })
		w.put("o", client)
		o := w.do("{{secret.o}}")
		if want := "no token could be fetched for the secret o: " + test.want + "; nothing was sent"; o.Failure == nil ||
			o.Failure.Kind != job.KindSecret || o.Failure.Message != want {
			t.Errorf("%s: %+v, want %s", name, o.Failure, want)
		}
		if n := len(w.net.to(target)); n > 0 {
			t.Errorf("%s: %d requests were sent", name, n)
		}
		w.vault.Close()
	}
}

func TestTokens_ASlowServerCostsNoMoreThanTheAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(ctx context.Context, r execute.Request) job.Outcome {
			<-ctx.Done()
			return job.Outcome{Failure: &job.Failure{Kind: job.KindTimeout, Message: "no response"}}
		})
		w.put("o", client)
		start := time.Now()
		o := w.vault.Do(t.Context(), owner, execute.Request{URL: target, Timeout: 3 * time.Second,
			Header: []execute.Field{{Name: "a", Value: "{{secret.o}}"}}}, Proof{})
		if o.Failure == nil || o.Failure.Kind != job.KindTimeout || time.Since(start) != 3*time.Second || o.Duration != 3*time.Second {
			t.Errorf("after %s: %+v", time.Since(start), o)
		}
		o = w.vault.Do(t.Context(), owner, execute.Request{URL: target, Timeout: time.Minute,
			Header: []execute.Field{{Name: "a", Value: "{{secret.o}}"}}}, Proof{})
		if o.Failure == nil || o.Failure.Kind != job.KindSecret {
			t.Errorf("the outcome is %+v", o)
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(execute.ErrCancelled) })
		o = w.vault.Do(ctx, owner, execute.Request{URL: target, Timeout: time.Minute,
			Header: []execute.Field{{Name: "a", Value: "{{secret.o}}"}}}, Proof{})
		if o.Failure == nil || o.Failure.Kind != job.KindCancelled {
			t.Errorf("cancelled: %+v", o)
		}
		w.vault.Close()
	})
}

func TestTokens_AreBoundedInMemory(t *testing.T) {
	w := newWorld(t, nil)
	defer w.vault.Close()
	tk := &w.vault.tokens
	for i := range 3000 {
		tk.keep(tokenKey{account: int64(i)}, token{strings.Repeat("x", maxToken), time.Now().Add(time.Hour)})
	}
	if n, bytes := tk.kept.Size(); bytes > maxTokenBytes || n != maxTokenBytes/maxToken {
		t.Errorf("%d tokens of %d bytes are kept", n, bytes)
	}
}

// Accounts with many tokens displace their own.
func TestTokens_AnAccountDisplacesNoneOfOthers(t *testing.T) {
	w := newWorld(t, nil)
	defer w.vault.Close()
	tk := &w.vault.tokens
	mine := tokenKey{account: 1, name: "mine"}
	tk.keep(mine, token{"mine", time.Now().Add(time.Hour)})
	for i := range 3 * maxTokenBytes / leastToken {
		tk.keep(tokenKey{account: int64(2 + i%2), version: int64(i)}, token{"x", time.Now().Add(time.Hour)})
	}
	if tk.known(mine) != "mine" {
		t.Error("the token of another account was displaced")
	}
}

func TestLife_OfATokenIsBounded(t *testing.T) {
	for expires, want := range map[string]time.Duration{
		`3600`: 59 * time.Minute, `"3600"`: 59 * time.Minute, `60`: 0, `0`: -time.Minute, `-5`: -time.Minute, `null`: defaultLife,
		``:       defaultLife,
		`"soon"`: defaultLife, `1e300`: maxLife, `{}`: defaultLife, `86460`: maxLife, `90.5`: 30500 * time.Millisecond,
	} {
		if got := life(json.RawMessage(expires)); got != want {
			t.Errorf("expires_in %s: %s, want %s", expires, got, want)
		}
	}
}
