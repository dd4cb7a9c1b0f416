package mcp

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// writer collects what is written.
type writer struct{ strings.Builder }

func (*writer) Close() error { return nil }

const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},` +
	`"clientInfo":{"name":"t","version":"1"}}}` + "\n" + `{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n"

// served returns the responses to lines that are followed by the end of the input, by id.
func served(t *testing.T, api API, input string) (byID map[string]map[string]any, refused []float64, err error) {
	t.Helper()
	var out writer
	err = New(Config{Version: "1"}).RunStdio(t.Context(), api, "key", io.NopCloser(strings.NewReader(input)), &out)
	byID = map[string]map[string]any{}
	for text := range strings.Lines(out.String()) {
		var m map[string]any
		if err := json.Unmarshal([]byte(text), &m); err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		if m["id"] == nil {
			refused = append(refused, m["error"].(map[string]any)["code"].(float64))
			continue
		}
		id, _ := json.Marshal(m["id"])
		byID[string(id)] = m
	}
	return byID, refused, err
}

func TestRunStdio_AnswersLinesThatAreNoMessages(t *testing.T) {
	input := initialize
	for _, text := range []string{"not json", `{"a":1}`, `[]`, `[{"jsonrpc":"2.0","id":7,"method":"ping"}]`, `3`, `{"jsonrpc":"1.0","id":1}`,
		"{", " \t", ""} {
		input += text + "\n"
	}
	byID, refused, err := served(t, answers(nil), input+`{"jsonrpc":"2.0","id":2,"method":"ping"}`)
	if err != nil || byID["1"]["result"] == nil || byID["2"]["result"] == nil {
		t.Errorf("the session ended with %v and answered %v", err, byID)
	}
	want := []float64{codeParse, codeRequest, codeRequest, codeRequest, codeRequest, codeRequest, codeParse}
	if len(refused) != len(want) {
		t.Fatalf("refused with %v, want %v", refused, want)
	}
	for i := range want {
		if refused[i] != want[i] {
			t.Errorf("line %d was refused with %v, want %v", i, refused[i], want[i])
		}
	}
}

func TestRunStdio_AnswersWhatWasAskedBeforeTheEnd(t *testing.T) {
	read := make(chan struct{})
	api := answers(func(*http.Request) (int, string) {
		<-read // the input has ended
		return http.StatusOK, `{"data":[]}`
	})
	input := &ending{Reader: strings.NewReader(initialize +
		`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"list_jobs","arguments":{}}}` + "\n" +
		`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"cancel_job","arguments":{"job_id":1}}}` + "\n"), read: read}
	var out writer
	if err := New(Config{Version: "1"}).RunStdio(t.Context(), api, "key", io.NopCloser(input), &out); err != nil {
		t.Error(err)
	}
	for _, id := range []string{`"id":1`, `"id":2`, `"id":3`} {
		if strings.Count(out.String(), id) != 1 {
			t.Errorf("%s was not answered: %s", id, out.String())
		}
	}
}

// ending closes read at the end of the input.
type ending struct {
	io.Reader
	read chan struct{}
}

func (e *ending) Read(b []byte) (int, error) {
	n, err := e.Reader.Read(b)
	if err == io.EOF {
		close(e.read)
	}
	return n, err
}

func TestRunStdio_EndsAtALineThatIsTooLong(t *testing.T) {
	_, _, err := served(t, answers(nil), initialize+strings.Repeat("x", maxLine+1))
	if err == nil || !strings.Contains(err.Error(), "2 MiB") {
		t.Errorf("ended with %v", err)
	}
}

// A client may send everything before it reads anything: whoever waits for it to read must
// not keep its messages from being read.
func TestRunStdio_ReadsWhileNobodyReadsTheAnswers(t *testing.T) {
	const pings, faults = 3000, 500 // more than 64 KiB of answers
	in, send := io.Pipe()
	receive, out := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- New(Config{Version: "1"}).RunStdio(t.Context(), answers(nil), "key", in, out) }()

	sent := make(chan error, 1)
	go func() {
		_, err := io.WriteString(send, initialize)
		for n := 0; n < pings && err == nil; n++ {
			_, err = fmt.Fprintf(send, `{"jsonrpc":"2.0","id":%d,"method":"ping"}`+"\n", n+2)
			if err == nil && n < faults {
				_, err = io.WriteString(send, "not json\n")
			}
		}
		sent <- errors.Join(err, send.Close())
	}()
	select {
	case err := <-sent:
		if err != nil {
			t.Fatal(err)
		}
	case <-time.After(time.Minute): // never, unless both sides wait for each other
		t.Fatal("the messages are not read while the answers are not")
	}

	answered, refused, r := map[int]int{}, 0, json.NewDecoder(receive)
	for range 1 + pings + faults {
		var m struct{ ID *int }
		if err := r.Decode(&m); err != nil {
			t.Fatal(err)
		}
		if m.ID == nil {
			refused++
			continue
		}
		answered[*m.ID]++
	}
	if refused != faults || len(answered) != 1+pings {
		t.Errorf("%d requests were answered, %d lines refused", len(answered), refused)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
