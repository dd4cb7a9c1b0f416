package hostile

import (
	"context"
	"fmt"
	"net/http"
	"strings"
)

// toolCall is a message that calls a tool.
func toolCall(tool, arguments string) string {
	return `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + tool + `","arguments":` + arguments + `}}`
}

var forAgents = []string{"Content-Type", "application/json", "Accept", "application/json, text/event-stream"}

// agentSays returns an attack that sends one message to the tools for agents.
func agentSays(name, message string) attack { return sends(name, "/mcp", message, forAgents...) }

// agentAttacks are those of confused and malicious agents.
var agentAttacks = []attack{
	agentSays("a batch of 8,000 tool calls", list(toolCall("list_jobs", `{}`), 8000)),
	agentSays("batches of 16 lists of all jobs", list(toolCall("list_jobs", `{"limit":100}`), 16)),
	agentSays("a message of arrays 400,000 deep", nested("[", "", "]", 400_000)),
	agentSays("arguments 150,000 deep", toolCall("create_job", nested(`{"a":`, "1", "}", 150_000))),
	agentSays("80,000 unknown arguments", toolCall("create_job", `{`+members(60_000, `"m%d":1`)+`}`)),
	agentSays("an argument of a megabyte", toolCall("get_job", `{"job_id":"`+fill("9", almost-kib)+`"}`)),
	agentSays("a job with a body of a megabyte", toolCall("create_job",
		`{"url":"https://127.0.0.1:1443/","scheduled_at":"2031-01-01","body":"`+fill("<\u202e", almost-kib)+`"}`)),
	agentSays("a rehearsal of a thousand schedules",
		toolCall("rehearse", `{"schedules":`+list(`{"key":"k","url":"https://127.0.0.1:1443/","repeat_every":1}`, 10_000)+`}`)),
	agentSays("the list of tools again and again", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`),
	agentSays("a stream of changes that never come",
		`{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true}}}`),
	{"floods of sessions", func(ctx context.Context, s *strike) {
		s.flood(ctx, 8, func(n int) {
			message := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"%s","version":"1"}}}`, n, strings.Repeat("x", 1000))
			s.call(http.MethodPost, "/mcp", s.key(), []byte(message),
				append([]string{"Mcp-Session-Id", fmt.Sprint("s", n)}, forAgents...)...)
		})
	}},
	{"floods of waits", func(ctx context.Context, s *strike) {
		key := s.own()
		id := s.create(key, `"url":"https://127.0.0.1:1443/","scheduled_at":"2031-01-01"`)
		message := []byte(toolCall("wait_for_job", `{"job_id":"`+id+`","seconds":50}`))
		s.flood(ctx, 64, func(int) {
			s.call(http.MethodPost, "/mcp", key, message, forAgents...)
		})
	}},
}
