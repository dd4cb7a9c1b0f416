package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/test/e2e/harness"
)

// calls are all calls that take a key, with the scope each needs.
var calls = []struct{ scope, method, path, body string }{
	{"read", "GET", "/api/jobs", ""},
	{"read", "HEAD", "/api/jobs", ""},
	{"read", "GET", "/api/jobs/counts", ""},
	{"read", "GET", "/api/jobs/" + noUUID, ""},
	{"read", "GET", "/api/schedules", ""},
	{"read", "GET", "/api/schedules/" + noUUID, ""},
	{"read", "GET", "/api/schedules/" + noUUID + "/state", ""},
	{"read", "GET", "/api/logs", ""},
	{"read", "GET", "/api/logs/export", ""},
	{"read", "GET", "/api/logs/" + noUUID, ""},
	{"read", "GET", "/api/stats", ""},
	{"read", "POST", "/api/preview", `{"url":"https://example.com"}`},
	{"jobs", "POST", "/api/jobs", waiting},
	{"jobs", "POST", "/api/jobs/cancel", `{"ids":["` + noUUID + `"]}`},
	{"jobs", "PATCH", "/api/jobs/" + noUUID, `{"schedule_in":1}`},
	{"jobs", "POST", "/api/jobs/" + noUUID + "/run", ""},
	{"jobs", "POST", "/api/jobs/" + noUUID + "/rerun", ""},
	{"jobs", "POST", "/api/jobs/" + noUUID + "/cancel", ""},
	{"jobs", "DELETE", "/api/schedules/" + noUUID, ""},
	{"jobs", "PATCH", "/api/schedules/" + noUUID, `{}`},
	{"jobs", "PUT", "/api/schedules/" + noUUID + "/state", `{}`},
	{"jobs", "DELETE", "/api/schedules/" + noUUID + "/state", ""},
	{"jobs", "POST", "/api/schedules/" + noUUID + "/disable", ""},
	{"jobs", "POST", "/api/schedules/" + noUUID + "/enable", ""},
	{"admin", "GET", "/api/account", ""},
	{"admin", "GET", "/api/account/keys", ""},
	{"admin", "POST", "/api/account/keys", `{"scope":"admin"}`},
	{"admin", "DELETE", "/api/account/keys/" + noUUID, ""},
	{"admin", "GET", "/api/account/signing-secrets", ""},
	{"admin", "POST", "/api/account/signing-secrets/rotate", ""},
	{"admin", "GET", "/api/account/audit", ""},
}

func TestAccountKey_PermitsWhatItsScopeSays(t *testing.T) {
	t.Parallel()
	a := account(t)
	includes := map[string]string{"read": "read", "jobs": "read jobs", "admin": "read jobs admin"}
	for scope, permitted := range includes {
		_, key := a.Service.NewKey(t, a.Email, "--scope", scope)
		c := a.Service.Client(t, key)
		for _, call := range calls {
			var body any
			if call.body != "" {
				body = call.body
			}
			answer := c.Do(call.method, call.path, body)
			if strings.Contains(permitted, call.scope) {
				if answer.Status == 401 || answer.Status == 403 {
					t.Errorf("%s %s with a key for %s: %s", call.method, call.path, scope, answer)
				}
				continue
			}
			answer.WantProblem(403)
			if !strings.Contains(answer.JSON.Get("detail").Str(), "the scope "+call.scope+",") {
				t.Errorf("the scope is not named: %s", answer)
			}
			if got, want := answer.Header.Get("WWW-Authenticate"),
				`Bearer error="insufficient_scope", scope="`+call.scope+`"`; got != want {
				t.Errorf("WWW-Authenticate is %q, want %q", got, want)
			}
		}
	}
	// The refused keys have neither created nor revoked a key.
	if n := len(a.Get("/api/account/keys").Want(200).Data().Items()); n != 1+3+1 {
		t.Errorf("the account has %d keys", n)
	}
	if n := len(a.Get("/api/account/signing-secrets").Want(200).Data().Items()); n != 2 {
		t.Errorf("the account has %d signing secrets", n)
	}
}

func TestAccountKey_WithoutAScopePermitsEverything(t *testing.T) {
	t.Parallel()
	a := account(t)
	wantSame(t, "by the command line", a.Get("/api/account/keys").Want(200).Data().Get("0.scope"), `"admin"`)
	made := a.Post("/api/account/keys", `{}`).Want(201).Data()
	wantSame(t, "by the API", made.Get("scope"), `"admin"`)
	wantSame(t, "expires_at", made.Get("expires_at"), "null")
	wantSame(t, "cidrs", made.Get("cidrs"), "[]")
}

func TestAccountKey_Expires(t *testing.T) {
	t.Parallel()
	a := account(t)
	ends := time.Now().Add(6 * time.Second).UTC().Format("2006-01-02T15:04:05.000000Z")
	made := a.Post("/api/account/keys", `{"name":"short","scope":"jobs","expires_at":"`+ends+`"}`).Want(201).Data()
	wantSame(t, "expires_at", made.Get("expires_at"), `"`+ends+`"`)
	c := a.Service.Client(t, made.Get("key").Str())
	c.Get("/api/jobs").Want(200)
	var answer *harness.Answer
	harness.Eventually(t, soon, "the key to expire", func() bool {
		answer = c.Get("/api/jobs")
		return answer.Status != 200
	})
	answer.WantProblem(401)
	if !strings.Contains(answer.JSON.Get("detail").Str(), "this key expired at ") || answer.Header.Get("WWW-Authenticate") != "Bearer" {
		t.Errorf("it is not said: %s %q", answer, answer.Header.Get("WWW-Authenticate"))
	}
}

func TestAccountKey_IsBoundToItsNetworks(t *testing.T) {
	t.Parallel()
	a := account(t)
	_, here := a.Service.NewKey(t, a.Email, "--cidr", "192.0.2.0/24,127.0.0.0/8,::1")
	_, elsewhere := a.Service.NewKey(t, a.Email, "--cidr", "192.0.2.0/24", "--scope", "admin")
	a.Service.Client(t, here).Get("/api/jobs").Want(200)
	c := a.Service.Client(t, elsewhere)
	for _, call := range [][2]string{{"GET", "/api/jobs"}, {"GET", "/api/account/keys"}, {"POST", "/api/account/keys"}} {
		refused := c.Do(call[0], call[1], nil).WantProblem(403)
		if !strings.Contains(refused.JSON.Get("detail").Str(), "this call came from 127.0.0.1") {
			t.Errorf("the address is not named: %s", refused)
		}
	}
	wantSame(t, "the networks", a.Get("/api/account/keys").Want(200).Data().Get("1.cidrs"), `["192.0.2.0/24","127.0.0.0/8","::1/128"]`)
}

func TestAccountKey_InvalidRestrictionsAreRefused(t *testing.T) {
	t.Parallel()
	a := account(t)
	for body, pointers := range map[string][]string{
		`{"scope":"write"}`:                                 {"#/scope"},
		`{"scope":""}`:                                      {"#/scope"},
		`{"scope":7,"expires_at":7,"cidrs":"x"}`:            {"#/scope", "#/expires_at", "#/cidrs"},
		`{"expires_at":"2020-01-01T00:00:00Z"}`:             {"#/expires_at"},
		`{"expires_at":"soon"}`:                             {"#/expires_at"},
		`{"expires_at":"9999-01-01T00:00:00Z"}`:             {"#/expires_at"},
		`{"cidrs":["192.0.2.1/24","x",7]}`:                  {"#/cidrs/2"},
		`{"cidrs":["192.0.2.1/24","x","10.0.0/8"]}`:         {"#/cidrs/1", "#/cidrs/2"},
		`{"cidrs":[` + strings.Repeat(`"x",`, 20) + `"x"]}`: {"#/cidrs"},
		`{"scopes":["read"]}`:                               {"#/scopes"},
	} {
		a.Post("/api/account/keys", body).WantPointers(pointers...)
	}
	form := a.Post("/api/account/keys", "name=form&scope=read&cidrs[]=192.0.2.1",
		harness.ContentType("application/x-www-form-urlencoded")).Want(201).Data()
	wantSame(t, "from a form", form.Get("cidrs"), `["192.0.2.1/32"]`)
	wantSame(t, "from a form", form.Get("scope"), `"read"`)
	a.Post("/api/account/keys", `{"name":null,"scope":null,"expires_at":null,"cidrs":null}`).Want(201)
	a.Do(http.MethodDelete, "/api/account/keys/"+form.Get("id").Str(), nil).Want(204)
}

func TestAccountKey_ReadScopeSufficesForTheStream(t *testing.T) {
	t.Parallel()
	a := account(t)
	_, key := a.Service.NewKey(t, a.Email, "--scope", "read")
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, a.Service.URL()+"/api/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+key)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != 200 {
		t.Errorf("a key that reads gets %d", response.StatusCode)
	}
}

func TestAccountKey_IsCreatedListedAndRevoked(t *testing.T) {
	t.Parallel()
	a := account(t)
	made := a.Post("/api/account/keys", `{"name":"ünter \"q\""}`).Want(201).Data()
	wantKeys(t, "a new key", made, "id", "name", "prefix", "scope", "cidrs", "created_at", "expires_at", "last_used_at", "revoked_at",
		"created_by", "key")
	wantSame(t, "name", made.Get("name"), `"ünter \"q\""`)
	key := made.Get("key").Str()
	if !strings.HasPrefix(key, "sk_") || !strings.HasPrefix(key, made.Get("prefix").Str()) {
		t.Errorf("key %q with prefix %s", key, made.Get("prefix").Raw())
	}
	second := a.Service.Client(t, key)
	list := second.Get("/api/account/keys").Want(200)
	if strings.Contains(string(list.Body), key) {
		t.Error("the list tells the whole key")
	}
	keys := list.Data().Items()
	if len(keys) != 2 || keys[0].Get("id").Str() != a.KeyID || keys[1].Get("id").Str() != made.Get("id").Str() {
		t.Fatalf("the keys are %s", list.Data().Raw())
	}
	wantSame(t, "revoked_at", keys[1].Get("revoked_at"), "null")

	path := "/api/account/keys/" + made.Get("id").Str()
	second.Do(http.MethodDelete, path, nil).WantProblem(422)
	second.Get("/api/jobs").Want(200)
	a.Do(http.MethodDelete, path, nil).Want(204)
	second.Get("/api/jobs").WantProblem(401) // at once, on this node
	a.Do(http.MethodDelete, path, nil).Want(204)
	if revoked := a.Get("/api/account/keys").Want(200).Data().Get("1.revoked_at"); revoked.Raw() == "null" {
		t.Error("the key is listed as working")
	}
}

func TestAccountKey_OfAnotherAccountCannotBeRevoked(t *testing.T) {
	t.Parallel()
	a, b := account(t), account(t)
	for _, id := range []string{b.KeyID, noUUID, "x", "%00", "1"} {
		a.Do(http.MethodDelete, "/api/account/keys/"+id, nil).WantProblem(404)
	}
	b.Get("/api/jobs").Want(200)
}

func TestAccountKey_InvalidFieldsAreRefused(t *testing.T) {
	t.Parallel()
	a := account(t)
	a.Post("/api/account/keys", `{"name":7}`).WantPointers("#/name")
	a.Post("/api/account/keys", `{"name":"a\nb"}`).WantPointers("#/name")
	a.Post("/api/account/keys", `{"name":"`+strings.Repeat("é", 256)+`"}`).WantPointers("#/name")
	a.Post("/api/account/keys", `{"nome":"x","a/b":1}`).WantPointers("#/nome", "#/a~1b")
	a.Post("/api/account/keys", `["x"]`).WantPointers("#")
	a.Post("/api/account/keys", `{`).WantProblem(400)
	a.Post("/api/account/keys", ``).WantProblem(400)
	a.Post("/api/account/keys", `x`, harness.ContentType("text/plain")).WantProblem(415)
	if keys := a.Get("/api/account/keys").Want(200).Data().Items(); len(keys) != 1 {
		t.Errorf("%d keys were made", len(keys)-1)
	}
	for _, body := range []string{`{}`, `{"name":null}`, `{"name":"` + strings.Repeat("é", 255) + `"}`} {
		a.Post("/api/account/keys", body).Want(201)
	}
	wantSame(t, "a name from a form", a.Post("/api/account/keys", "name=from+a+form",
		harness.ContentType("application/x-www-form-urlencoded")).Want(201).Data().Get("name"), `"from a form"`)
}

func TestAccountKey_NumberIsLimited(t *testing.T) {
	t.Parallel()
	a := account(t)
	for i := range 99 {
		a.Post("/api/account/keys", fmt.Sprintf(`{"name":"key %d"}`, i)).Want(201)
	}
	a.Post("/api/account/keys", `{}`).WantPointers("#")
	last := a.Get("/api/account/keys").Want(200).Data().Get("99.id").Str()
	a.Do(http.MethodDelete, "/api/account/keys/"+last, nil).Want(204)
	a.Post("/api/account/keys", `{}`).Want(201)
}
