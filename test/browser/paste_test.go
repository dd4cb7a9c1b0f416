package browser

import "testing"

// TestNewJob_PasteOfACurlCommand tests that a pasted command fills the form, and that one
// that can't be read says why, with and without scripts.
func TestNewJob_PasteOfACurlCommand(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, scripts := range []bool{true, false} {
		p := Open(t, w.Service, Phone).Expect(422).Go("/public/jobs/new").Script(scripts).ClickOn("Paste a curl command")
		p.Fill("#f-curl", "curl https://example.com/$NAME").ClickOn("Fill the form").Script(true)
		p.See("Command uses the variable NAME; write its value instead").Check().Script(scripts)
		p.Fill("#f-curl", `curl -X PUT https://example.com/hook -H "X-Team: billing" -d hello`).ClickOn("Fill the form").Script(true)
		p.Wait(`document.getElementById("f-url").value === "https://example.com/hook" && document.getElementById("f-method").value === "put"`)
		p.Wait(`document.getElementById("f-headers").value.includes("X-Team: billing") && document.getElementById("f-body").value === "hello"`).Check().Close()
	}
}
