package importer

import (
	"strings"
	"testing"
)

// qstashSaid returns an item in short: its calls, or why there are none.
func qstashSaid(i *QStashItem) string {
	text := i.Kind + " " + i.Name + ":"
	if i.Err != nil {
		return text + " ! " + i.Err.Error()
	}
	for _, c := range i.Calls {
		text += " " + c.Method + " " + c.Path + string(c.Body)
		for _, name := range []string{"Upstash-Cron", "Upstash-Retries", "Upstash-Flow-Control-Value", "Upstash-Label",
			"Upstash-Forward-X-A", "Content-Type"} {
			if values := c.Header[name]; values != nil {
				text += " " + name + "=" + strings.Join(values, "|")
			}
		}
	}
	return text
}

func TestQStash(t *testing.T) {
	for path, test := range map[string]struct {
		list string
		want []string
	}{
		"/v2/flowControl": {
			`[{"flowControlKey":"a/b","rateMax":5,"ratePeriod":60,"parallelismMax":3,"isPinnedRate":true,"isPaused":true},{"flowControlKey":"of messages","rateMax":5}]`,
			[]string{"flow control key a/b: POST /v2/flowControl/a%2Fb/pin?period=60&rate=5 POST /v2/flowControl/a%2Fb/pause"},
		},
		"/v2/queues": {
			`[{"name":"q","parallelism":2,"paused":true,"lag":7}]`,
			[]string{`queue q: POST /v2/queues{"parallelism":2,"paused":true,"queueName":"q"}`},
		},
		"/v2/topics": {
			`[{"name":"t","endpoints":[{"name":"e","url":"https://e"}]},{"name":"none","endpoints":[]}]`,
			[]string{`topic t: POST /v2/topics/t/endpoints{"endpoints":[{"name":"e","url":"https://e"}]}`,
				"topic none: ! has no endpoints"},
		},
		"/v2/schedules": {
			`[{"scheduleId":"s","cron":"CRON_TZ=Europe/Berlin 0 4 * * *","destination":"https://e/?a=b","method":"PUT","header":{"X-A":["1","2"],"Content-Type":["text/plain"]},
				"body":"hello","retries":0,"flowControlKey":"k","rate":5,"period":60,"labels":["l","m"],"isPaused":true},
			{"scheduleId":"bytes","cron":"0 4 * * *","destination":"t","bodyBase64":"aGk="},
			{"scheduleId":"llm","cron":"0 4 * * *","destination":"api/llm"},
			{"scheduleId":"hidden","cron":"0 4 * * *","destination":"https://e","header":{"Authorization":["REDACTED:a1"]}},
			{"scheduleId":"secret","cron":"0 4 * * *","destination":"https://e","body":"[redacted]"},
			{"scheduleId":"step","cron":"0 4 * * *","destination":"https://e","header":{"Upstash-Workflow-RunId":["wfr_1"]}},
			{"scheduleId":"garbled","cron":"0 4 * * *","destination":"https://e","bodyBase64":"?"},
			{"scheduleId":"time","cron":"61 4 * * *","destination":"https://e","isPaused":true},
			{"scheduleId":"never","cron":"TZ=UTC 0 0 30 2 *","destination":"https://e","isPaused":true},
			{"scheduleId":"zone","cron":"CRON_TZ=Mars/X 0 4 * * *","destination":"https://e","isPaused":true}]`,
			[]string{
				"schedule s: POST /v2/schedules/https://e/?a=bhello Upstash-Cron=0 0 29 2 * Upstash-Retries=0 " +
					"Upstash-Flow-Control-Value=rate=5, period=60 Upstash-Label=l,m Upstash-Forward-X-A=1|2 Content-Type=text/plain " +
					"PATCH /v2/schedules/s/pause " +
					"POST /v2/schedules/https://e/?a=bhello Upstash-Cron=CRON_TZ=Europe/Berlin 0 4 * * * Upstash-Retries=0 " +
					"Upstash-Flow-Control-Value=rate=5, period=60 Upstash-Label=l,m Upstash-Forward-X-A=1|2 Content-Type=text/plain",
				"schedule bytes: POST /v2/schedules/thi Upstash-Cron=0 4 * * *",
				"schedule llm: ! sends to the provider api/llm", "schedule hidden: ! has the redacted header Authorization",
				"schedule secret: ! has a redacted body",
				"schedule step: ! belongs to a workflow", "schedule garbled: ! illegal base64",
				`schedule time: ! has the time "61 4 * * *", which has "61" as its minute`,
				`schedule never: ! has the time "0 0 30 2 *", which never fires`,
				`schedule zone: ! has the time zone "Mars/X", which must be`,
			},
		},
	} {
		items, err := QStash(path, []byte(test.list))
		if err != nil || len(items) != len(test.want) {
			t.Fatalf("%s: %+v, %v", path, items, err)
		}
		for i := range items {
			if got := qstashSaid(&items[i]); !strings.HasPrefix(got, test.want[i]) {
				t.Errorf("got %q, want %q", got, test.want[i])
			}
		}
	}
	if _, err := QStash("/v2/topics", []byte(`{"error":"no"}`)); err == nil {
		t.Error("an object was read as a list")
	}
}

func FuzzQStash(f *testing.F) {
	f.Add(0, `[{"flowControlKey":"a","isPaused":true}]`)
	f.Add(3, `[{"scheduleId":"s","destination":"t","header":{"a":[]},"bodyBase64":"aGk="}]`)
	f.Fuzz(func(t *testing.T, which int, list string) {
		items, err := QStash(QStashLists[uint(which)%uint(len(QStashLists))], []byte(list))
		for _, i := range items {
			if err == nil && i.Err == nil && len(i.Calls) == 0 && i.Kind != "flow control key" {
				t.Errorf("%+v has neither calls nor an error", i)
			}
		}
	})
}
