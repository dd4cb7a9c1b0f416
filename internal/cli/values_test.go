package cli

import (
	"bytes"
	"errors"
	"math"
	"net/mail"
	"net/netip"
	"net/url"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kong"

	"github.com/punctual-dev/punctual/internal/execute"
	"github.com/punctual-dev/punctual/internal/network"
	"github.com/punctual-dev/punctual/internal/notify/smtp"
)

func wantPorts(t *testing.T, text string) ports {
	t.Helper()
	p, err := execute.ParsePorts(text)
	if err != nil {
		t.Fatal(err)
	}
	return ports(p)
}

func TestPeriodsAreReadAsWritten(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	for text, want := range map[string]time.Duration{
		"0": 0, "90m": 90 * time.Minute, "12h": 12 * time.Hour, "30d": 30 * day, "2w": 14 * day, "45s": 45 * time.Second,
		"0d": 0, "007d": 7 * day, "36500d": maxPeriod,
	} {
		if got, err := parsePeriod(text); err != nil || got != want {
			t.Errorf("parsePeriod(%q) = %s, %v, want %s", text, got, err, want)
		}
	}
	for _, text := range []string{"", "d", "30", "30 d", " 30d", "30D", "1.5h", "-1d", "+1d", "1h30m", "30y", "36501d",
		"9223372036854775808s", "٣d", "1e3d"} {
		if got, err := parsePeriod(text); err == nil {
			t.Errorf("parsePeriod(%q) = %s, want an error", text, got)
		}
	}
}

func FuzzParsePeriod(f *testing.F) {
	for _, seed := range []string{"0", "90m", "12h", "30d", "2w", "", "d", "-1d", "36501d", "99999999999999999999w", "1\x00h"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := parsePeriod(text)
		if err != nil {
			if got != 0 || !strings.Contains(err.Error(), strconv.Quote(text)) {
				t.Errorf("parsePeriod(%q) = %s, %q: the sentence does not tell what was wrong", text, got, err)
			}
			return
		}
		if got < 0 || got > maxPeriod {
			t.Fatalf("parsePeriod(%q) = %s is out of bounds", text, got)
		}
		if text == "0" {
			return
		}
		// Counted out in floating point, where nothing overflows.
		n, wrong := strconv.ParseFloat(text[:len(text)-1], 64)
		if want := n * float64(units[text[len(text)-1]]); wrong != nil || math.Abs(want-float64(got)) > 1 {
			t.Errorf("parsePeriod(%q) = %s, want %g ns", text, got, want)
		}
	})
}

// parse reads a command line without carrying it out.
func parse(t *testing.T, args ...string) (*commands, string) {
	t.Helper()
	grammar := newGrammar()
	parser, variables := newParser(grammar, &bytes.Buffer{}, &bytes.Buffer{})
	if _, err := parser.Parse(args); err != nil {
		var parseError *kong.ParseError
		if !errors.As(err, &parseError) {
			t.Fatal(err)
		}
		return nil, explain(err, variables.used)
	}
	return grammar, ""
}

func TestServeHasTheDefaultsOfTheContract(t *testing.T) {
	t.Parallel()
	got, problem := parse(t, "serve")
	want := serveCommand{
		databaseFlag: databaseFlag{"sqlite:punctual.db"}, targetFlags: targetFlags{TargetPorts: wantPorts(t, "443,1024-65535")},
		Listen: "127.0.0.1:8080", Concurrency: 1000,
		Retention: period(30 * 24 * time.Hour), PublicRateLimit: 10, AnonymousRateLimit: 20,
		edgeFlags:   edgeFlags{TrustedProxies: networks(network.Loopback), MaxConnections: 4096},
		signInFlags: signInFlags{PasswordSignIn: true, SessionMaxAge: maxAge(90 * 24 * time.Hour)},
	}
	if problem != "" || !reflect.DeepEqual(got.Serve, want) {
		t.Errorf("got %+v %s\nwant %+v", got.Serve, problem, want)
	}
}

func TestEverySettingIsAVariableAndTheFlagWins(t *testing.T) {
	for name, value := range map[string]string{
		"PUNCTUAL_DATABASE_URL": "sqlite:other.db", "PUNCTUAL_LISTEN": ":1", "PUNCTUAL_PUBLIC_API_KEY": "sk_public",
		"PUNCTUAL_ALLOW_HTTP_TARGETS": "1", "PUNCTUAL_ALLOW_PRIVATE_TARGETS": "1", "PUNCTUAL_TARGET_CA_FILE": "ca.pem",
		"PUNCTUAL_CONCURRENCY":  "7",
		"PUNCTUAL_DENY_TARGETS": "8.8.8.8,1.0.0.0/8", "PUNCTUAL_ALLOW_TARGETS": "10.0.0.0/8", "PUNCTUAL_TARGET_PORTS": "443,25",
		"PUNCTUAL_RETENTION": "0", "PUNCTUAL_SIGNUP": "invite", "PUNCTUAL_RATE_LIMIT": "1.5", "PUNCTUAL_LOG_LEVEL": "WARN",
		"PUNCTUAL_LOG_FORMAT":        "json",
		"PUNCTUAL_PUBLIC_RATE_LIMIT": "2.5", "PUNCTUAL_ANONYMOUS_RATE_LIMIT": "3.5",
		"PUNCTUAL_SECRETS_KEY_FILE": "keys", "PUNCTUAL_MAX_PENDING": "4", "PUNCTUAL_MAX_SCHEDULES": "5", "PUNCTUAL_MAX_STORED": "6KB",
		"PUNCTUAL_PUBLIC_URL": "https://a.example/", "PUNCTUAL_TRUSTED_PROXIES": "none", "PUNCTUAL_MAX_CONNECTIONS": "9",
		"PUNCTUAL_METRICS_LISTEN": ":3",
		"PUNCTUAL_SMTP_URL":       "smtp://u:p%40@mail.example:25", "PUNCTUAL_SMTP_FROM": "a@example.com",
		"PUNCTUAL_SMTP_TRUSTED_DOMAINS": "Example.com, exämple.org", "PUNCTUAL_DRAIN": "5s",
		"PUNCTUAL_PUBLIC_PUNCTUALITY": "1", "PUNCTUAL_PREFER_HTTP2": "1", "PUNCTUAL_OUTBOX": "sqlite:app.db",
		"PUNCTUAL_API_KEY":       "sk_outbox",
		"PUNCTUAL_GOOGLE_LISTEN": ":7", "PUNCTUAL_GOOGLE_TLS_CERT": "g.pem", "PUNCTUAL_GOOGLE_TLS_KEY": "g.key",
		"PUNCTUAL_APP_ENGINE_URL": "http://app.example",
		"PUNCTUAL_OIDC_ISSUER":    "https://login.example", "PUNCTUAL_OIDC_CLIENT_ID": "punctual", "PUNCTUAL_OIDC_CLIENT_SECRET_FILE": "c",
		"PUNCTUAL_OIDC_ALLOWED_DOMAINS": "Example.com",
		"PUNCTUAL_OIDC_ROLE_CLAIM":      "groups", "PUNCTUAL_OIDC_ROLES": "ops=admin,*=viewer", "PUNCTUAL_OIDC_ACCOUNT": "own",
		"PUNCTUAL_PASSWORD_SIGN_IN": "false", "PUNCTUAL_SESSION_MAX_AGE": "12h",
	} {
		t.Setenv(name, value)
	}
	got, problem := parse(t, "serve")
	targets := targetFlags{
		DenyTargets:  addresses{netip.MustParsePrefix("8.8.8.8/32"), netip.MustParsePrefix("1.0.0.0/8")},
		AllowTargets: addresses{netip.MustParsePrefix("10.0.0.0/8")}, TargetPorts: wantPorts(t, "443,25"),
	}
	mails := mailFlags{mailServer{&smtp.Server{Host: "mail.example", Port: 25, User: "u", Password: "p@"}},
		mailAddress{&mail.Address{Address: "a@example.com"}}, mailDomains{"example.com", "xn--exmple-cua.org"}}
	people := signInFlags{"https://login.example", "punctual", "c", mailDomains{"example.com"}, "groups",
		roleMap{"ops": "admin", "*": "viewer"}, "own", false, maxAge(12 * time.Hour)}
	edge := edgeFlags{origin{&url.URL{Scheme: "https", Host: "a.example"}}, nil, 9, ":3", drain(5 * time.Second)}
	want := serveCommand{databaseFlag{"sqlite:other.db"}, ":1", "sk_public", true, true, targets, "ca.pem", true, secretsFlag{"keys"}, 7, 0,
		"invite",
		1.5, 2.5, 3.5, count{limit{4, true}}, count{limit{5, true}}, size{limit{6000, true}}, true, people, mails, edge,
		googleFlags{":7", "g.pem", "g.key", origin{&url.URL{Scheme: "http", Host: "app.example"}}}, "sqlite:app.db", "sk_outbox", 4, "json"}
	if problem != "" || !reflect.DeepEqual(got.Serve, want) {
		t.Errorf("from the environment: %+v %s\nwant %+v", got.Serve, problem, want)
	}
	got, problem = parse(t, "serve", "--database-url=sqlite:a.db", "--listen=:2", "--public-api-key=sk_flag", "--allow-http-targets=false",
		"--allow-private-targets=false",
		"--deny-targets=", "--allow-targets=", "--target-ports=8443", "--target-ca-file=b.pem", "--prefer-http2=false",
		"--secrets-key-file=other", "--concurrency=8", "--retention=1h", "--signup=closed", "--rate-limit=0", "--log-level=info",
		"--log-format=text",
		"--public-rate-limit=1", "--anonymous-rate-limit=2", "--max-pending=0", "--max-schedules=3", "--max-stored=4MiB",
		"--public-punctuality=false",
		"--public-url=http://b.example:8080", "--trusted-proxies=10.0.0.0/8", "--max-connections=8", "--metrics-listen=:4", "--drain=1m",
		"--smtp-url=smtps://mail.example", "--smtp-from=P <b@example.com>", "--smtp-trusted-domains=example.net", "--outbox=sqlite:b.db",
		"--api-key=sk_other",
		"--google-listen=:8", "--google-tls-cert=h.pem", "--google-tls-key=h.key", "--app-engine-url=https://other.example",
		"--oidc-issuer=http://127.0.0.1:9", "--oidc-client-id=other", "--oidc-client-secret-file=", "--oidc-allowed-domains=example.net",
		"--oidc-role-claim=realm_access.roles", "--oidc-roles=a=b=owner", "--oidc-account=ann@example.com", "--password-sign-in",
		"--session-max-age=7d")
	mails = mailFlags{mailServer{&smtp.Server{Host: "mail.example", Port: 465, TLS: true}},
		mailAddress{&mail.Address{Name: "P", Address: "b@example.com"}}, mailDomains{"example.net"}}
	people = signInFlags{"http://127.0.0.1:9", "other", "", mailDomains{"example.net"}, "realm_access.roles", roleMap{"a=b": "owner"},
		"ann@example.com", true, maxAge(7 * 24 * time.Hour)}
	edge = edgeFlags{origin{&url.URL{Scheme: "http", Host: "b.example:8080"}}, networks{netip.MustParsePrefix("10.0.0.0/8")}, 8, ":4",
		drain(time.Minute)}
	want = serveCommand{databaseFlag{"sqlite:a.db"}, ":2", "sk_flag", false, false, targetFlags{TargetPorts: wantPorts(t, "8443")}, "b.pem",
		false, secretsFlag{"other"}, 8, period(time.Hour), "closed",
		0, 1, 2, count{limit{0, true}}, count{limit{3, true}}, size{limit{4 << 20, true}}, false, people, mails, edge,
		googleFlags{":8", "h.pem", "h.key", origin{&url.URL{Scheme: "https", Host: "other.example"}}}, "sqlite:b.db", "sk_other", 0, "text"}
	if problem != "" || !reflect.DeepEqual(got.Serve, want) {
		t.Errorf("with flags: %+v %s\nwant %+v", got.Serve, problem, want)
	}
}

func TestServeRefusesFlagsThatNeedOthers(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		"--smtp-url=smtp://mail.example":                                "need each other",
		"--smtp-from=a@example.com":                                     "need each other",
		"--google-listen=:0 --google-tls-cert=c.pem":                    "need each other",
		"--app-engine-url=https://app.example":                          "need --google-listen",
		"--google-tls-cert=c.pem --google-tls-key=k.pem":                "need --google-listen",
		"--oidc-client-id=punctual":                                     "need --oidc-issuer",
		"--oidc-issuer=https://login.example":                           "needs --oidc-client-id",
		"--password-sign-in=false":                                      "give --oidc-issuer too",
		"--oidc-issuer=https://login.example --oidc-client-id=punctual": "",
		"--smtp-url=smtp://mail.example --smtp-from=a@example.com":      "",
	} {
		_, problem := parse(t, append([]string{"serve"}, strings.Fields(given)...)...)
		if (problem == "") != (want == "") || !strings.Contains(problem, want) {
			t.Errorf("serve %s: %q, want %q", given, problem, want)
		}
	}
}

func TestAnEmptyVariableCountsAsNotSet(t *testing.T) {
	t.Setenv("PUNCTUAL_CONCURRENCY", "")
	t.Setenv("PUNCTUAL_ALLOW_PRIVATE_TARGETS", "")
	if got, problem := parse(t, "serve"); problem != "" || got.Serve.Concurrency != 1000 {
		t.Errorf("got %+v %s", got, problem)
	}
}

func TestAWrongVariableIsNamed(t *testing.T) {
	t.Setenv("PUNCTUAL_CONCURRENCY", "many")
	_, problem := parse(t, "serve")
	want := "--concurrency must be a whole number from 1 to 100000, not \"many\"; it comes from the environment variable PUNCTUAL_CONCURRENCY\n" +
		"Run punctual serve --help to see what it takes."
	if problem != want {
		t.Errorf("got %q\nwant %q", problem, want)
	}
	if _, problem := parse(t, "serve", "--concurrency=3"); problem != "" {
		t.Errorf("a flag does not win over a wrong variable: %s", problem)
	}
	if _, problem := parse(t, "version"); problem != "" {
		t.Errorf("a command that has no such flag minds the variable: %s", problem)
	}
}

func TestADefectIsNotSwallowed(t *testing.T) {
	t.Parallel()
	defer func() {
		if recover() == nil {
			t.Error("Run has swallowed a panic")
		}
	}()
	Run(t.Context(), []string{"version"}, nil, nil)
}
