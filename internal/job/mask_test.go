package job

import (
	"testing"

	"github.com/punctual-dev/punctual/internal/rawjson"
)

func TestIsCredential_GoesByTheWordsOfAName(t *testing.T) {
	for name, want := range map[string]bool{
		"Authorization": true, "proxy-authorization": true, "Cookie": true, "Set-Cookie": true, "X-API-Key": true, "x_api_key": true,
		"ApiKey":       true,
		"X-Auth-Token": true, "X-Amz-Security-Token": true, "Private.Token": true, "x-session-id": true,
		"Idempotency-Key": false, "Content-Type": false, "X-Author": false, "Keyboard": false, "Accept": false, "": false,
		"X-Tokens-Left": false,
	} {
		if got := IsCredential(name); got != want {
			t.Errorf("%s is a credential: %v, want %v", name, got, want)
		}
	}
}

func TestMaskCredentials_ChangesNothingElse(t *testing.T) {
	for object, want := range map[string]string{
		`{"url":"https://a.example","headers":{"Authorization":"Bearer x","a":"b","Cookie":["c","d"],"x-key":5},"body":{"headers":{"cookie":"e"}}}`: `{"url":"https://a.example","headers":{"Authorization":"***","a":"b","Cookie":["***","***"],"x-key":"***"},"body":{"headers":{"cookie":"e"}}}`,
		`{"headers":{"a":"1.10"},"body":1.10}`: `{"headers":{"a":"1.10"},"body":1.10}`,
		`{"headers":{}}`:                       `{"headers":{}}`, `{"headers":null}`: `{"headers":null}`, `{}`: `{}`, `null`: `null`,
	} {
		if got := string(MaskCredentials([]byte(object))); got != want {
			t.Errorf("%s is shown as %s, want %s", object, got, want)
		}
	}
}

func TestMaskLog(t *testing.T) {
	for _, x := range []struct{ event, payload, want string }{
		{EventRequest, `{"url":"https://x/a?k=1","headers":{"cookie":"c"}}`, `{"url":"https://x/a?k=1","headers":{"cookie":"***"}}`},
		{EventAlertFailed, `{"url":"https://hooks.slack.com/services/T/B/x?y=1","attempts":8,"response":null}`,
			`{"url":"https://hooks.slack.com/***","attempts":8,"response":null}`},
		{EventAlertFailed, `{"url":"https://user:pw@example.com:8443/x"}`, `{"url":"https://example.com:8443/***"}`},
		{EventAlertFailed, `{"url":"mailto:ops@example.com"}`, `{"url":"mailto:ops@example.com"}`},
		{EventAlertFailed, `{"url":"R0123456789"}`, `{"url":"***"}`},
		{EventAlertFailed, `{"url":7}`, `{"url":"***"}`},
		{EventCallbackFailed, `{"response":{"headers":{"set-cookie":["c"]}}}`, `{"response":{"headers":{"set-cookie":["***"]}}}`},
		{EventAlertFailed, `[]`, `[]`},
	} {
		if got := MaskLog(x.event, rawjson.Value(x.payload)); string(got) != x.want {
			t.Errorf("%s %s is shown as %s, want %s", x.event, x.payload, got, x.want)
		}
	}
}

func TestKeepCredentials_PutsBackWhatWasMasked(t *testing.T) {
	before := rawjson.Value(`{"headers":{"Authorization":"one","x-api-key":["two","three"],"x-team":"four"}}`)
	for object, want := range map[string]string{
		`{"url":"u","headers":{"authorization":"***","x-team":"***"}}`: `{"url":"u","headers":{"authorization":"one","x-team":"***"}}`,
		`{"headers":{"X-Api-Key":["***","***"]}}`:                      `{"headers":{"X-Api-Key":["two","three"]}}`,
		`{"headers":{"x-api-key":"***"}}`:                              `{"headers":{"x-api-key":"***"}}`,
		`{"headers":{"x-api-key":["***","new"],"cookie":"***"}}`:       `{"headers":{"x-api-key":["***","new"],"cookie":"***"}}`,
		`{"headers":{"authorization":"new"}}`:                          `{"headers":{"authorization":"new"}}`,
		`{"headers":[1]}`:                                              `{"headers":[1]}`,
		`[]`:                                                           `[]`,
	} {
		if got := KeepCredentials(rawjson.Value(object), before); string(got) != want {
			t.Errorf("%s becomes %s, want %s", object, got, want)
		}
	}
	if got := KeepCredentials(MaskCredentials(before), before); string(got) != string(before) {
		t.Errorf("masking and back: %s", got)
	}
}

func TestKeepCredentials_OfSeveralHeadersTakesTheFirst(t *testing.T) {
	before := rawjson.Value(`{"headers":{"Cookie":"one","cookie":["two","three"],"X-Key":["four","five"],"x-key":"six"}}`)
	for object, want := range map[string]string{
		`{"headers":{"cookie":"***","COOKIE":"***"}}`:                          `{"headers":{"cookie":"one","COOKIE":"one"}}`,
		`{"headers":{"cookie":["***","***"],"x-key":"***"}}`:                   `{"headers":{"cookie":["***","***"],"x-key":"***"}}`,
		`{"headers":{"x-key":["***","***"],"X-KEY":["***"],"Cookie":"seven"}}`: `{"headers":{"x-key":["four","five"],"X-KEY":["***"],"Cookie":"seven"}}`,
	} {
		if got := KeepCredentials(rawjson.Value(object), before); string(got) != want {
			t.Errorf("%s becomes %s, want %s", object, got, want)
		}
	}
}
