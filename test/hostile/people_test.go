package hostile

import (
	"context"
	"fmt"
	"net/http"
	"strings"
)

// signs returns an attack that submits a form of a stranger: n is the number of
// the call.
func signs(name, path string, fields func(n int) string) attack {
	return signsFrom(name, path, fields, func(s *strike, _ int) *http.Client { return s.client })
}

// signsFrom is signs from addresses that differ.
func signsFrom(name, path string, fields func(n int) string, from func(s *strike, n int) *http.Client) attack {
	return attack{name, func(ctx context.Context, s *strike) {
		s.flood(ctx, 32, func(n int) {
			s.send(from(s, n), http.MethodPost, path, "", []byte(fields(n)), "Content-Type", form, "Origin", s.service.URL(),
				"Sec-Fetch-Site", "same-origin")
		})
	}}
}

func credentials(email, password string) string {
	return field("email", email) + "&" + field("password", password)
}

var peopleAttacks = []attack{
	signs("wrong passwords for one email", "/sign-in",
		func(n int) string { return credentials("user1@example.com", fmt.Sprint("password-", n)) }),
	signs("wrong passwords for many emails", "/sign-in",
		func(n int) string { return credentials(fmt.Sprintf("a%d@example.com", n), "a password") }),
	signs("passwords of 500 KB", "/sign-in", func(int) string { return credentials("user1@example.com", fill("p", 500*kib)) }),
	signs("emails of 500 KB", "/sign-in", func(int) string { return credentials(fill("e", 500*kib)+"@example.com", "a password") }),
	signs("sign-ups", "/sign-up", func(n int) string { return credentials(fmt.Sprintf("b%d@example.com", n), "correct horse battery") }),
	signs("sign-ups with one email", "/sign-up", func(int) string { return credentials("user1@example.com", "correct horse battery") }),
	signs("sign-ups with codes", "/sign-up", func(n int) string {
		return credentials(fmt.Sprintf("c%d@example.com", n), "correct horse battery") + "&" +
			field("invite", fmt.Sprintf("inv_%043d", n)) + "&" + field("setup_code", fmt.Sprintf("%08d", n))
	}),
	signs("forms of other sites", "/sign-in", func(n int) string {
		return credentials("user1@example.com", "x") + "&" + field("next", "//evil.example/"+strings.Repeat("a", n%1000))
	}),
	signsFrom("wrong passwords from 200 addresses", "/sign-in",
		func(n int) string { return credentials(fmt.Sprintf("d%d@example.com", n), "a password") },
		func(s *strike, n int) *http.Client { return s.from(fmt.Sprintf("127.0.92.%d", 1+n%200)) }),
	{"sessions that nobody has", func(ctx context.Context, s *strike) {
		s.flood(ctx, 32, func(n int) {
			s.call(http.MethodGet, "/settings", "", nil, "Cookie", fmt.Sprintf("punctual_session=ses_%043d", n))
		})
	}},
	{"addresses that are made up", func(ctx context.Context, s *strike) {
		s.flood(ctx, 16, func(n int) {
			s.call(http.MethodPost, "/sign-in", "", []byte(credentials("user1@example.com", "x")), "Content-Type", form,
				"Origin", s.service.URL(), "X-Forwarded-For", fmt.Sprintf("10.%d.%d.%d", n>>16&255, n>>8&255, n&255))
		})
	}},
	{"hosts that are made up", func(ctx context.Context, s *strike) {
		s.flood(ctx, 16, func(n int) {
			s.call(http.MethodGet, "/sign-in", "", nil, "X-Forwarded-Host", fmt.Sprintf("evil-%d.example", n), "X-Forwarded-Proto",
				fill("https,", 8*kib))
		})
	}},
}
