package smtp

import (
	"strings"
	"testing"
)

func TestParseURL(t *testing.T) {
	for text, want := range map[string]Server{
		"smtp://mail.example.com":                       {Host: "mail.example.com", Port: 587},
		"smtp://mail.example.com/":                      {Host: "mail.example.com", Port: 587},
		"smtps://mail.example.com":                      {Host: "mail.example.com", Port: 465, TLS: true},
		"smtp://127.0.0.1:25":                           {Host: "127.0.0.1", Port: 25},
		"smtp://[::1]:2525":                             {Host: "::1", Port: 2525},
		"smtp://user:p%40ss%2Fword@mail.example.com:26": {Host: "mail.example.com", Port: 26, User: "user", Password: "p@ss/word"},
	} {
		if got, err := ParseURL(text); err != nil || *got != want {
			t.Errorf("%s is %+v, %v; want %+v", text, got, err, want)
		}
	}
}

func TestParseURL_RefusesWithoutRepeatingThePassword(t *testing.T) {
	for _, text := range []string{
		"", "mail.example.com", "http://mail.example.com", "smtp://", "smtp:mail.example.com", "smtp://:25", "smtp://h:0", "smtp://h:65536",
		"smtp://h:x",
		"smtp://h/path", "smtp://h?tls=1", "smtp://h#x", "smtp://user@h", "smtp://:hunter2@h", "smtp://user:hunter2@h/path",
		"smtp://user:hunter2%zz@h", "smtp://user:hun ter2@h:99999",
	} {
		if got, err := ParseURL(text); err == nil || strings.Contains(err.Error(), "ter2") {
			t.Errorf("%q gives %+v, %v", text, got, err)
		}
	}
}

func TestParseFrom(t *testing.T) {
	for text, want := range map[string]string{
		"alerts@example.com":            "<alerts@example.com>",
		"Punctual <alerts@example.com>": `"Punctual" <alerts@example.com>`,
	} {
		if got, err := ParseFrom(text); err != nil || got.String() != want {
			t.Errorf("%s is %v, %v; want %s", text, got, err, want)
		}
	}
	for _, text := range []string{"", "alerts", "a@example.com, b@example.com", "a@example.com\r\nBcc: b@example.com"} {
		if got, err := ParseFrom(text); err == nil {
			t.Errorf("%q gives %v", text, got)
		}
	}
}

func FuzzParseURL(f *testing.F) {
	for _, seed := range []string{"smtp://user:pass@mail.example.com:587", "smtps://[::1]", "smtp://h:0", "smtp://%41@h"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := ParseURL(text)
		if err == nil && (s.Host == "" || s.Port < 1 || s.Port > 65535 || (s.User == "") != (s.Password == "")) {
			t.Errorf("%q gives %+v", text, s)
		}
	})
}
