package api_test

import (
	"crypto/sha256"
	"encoding/base64"
	"regexp"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/punctual-dev/punctual/api"
)

// rendered returns the reference without the site around it.
func rendered() string {
	page, _ := api.Reference(api.Frame{})
	return string(page)
}

func TestReferenceNamesEveryOperation(t *testing.T) {
	page := rendered()
	eachOperation(load(t), func(where string, op *openapi3.Operation) {
		for _, want := range []string{`id="` + op.OperationID + `"`, `href="#` + op.OperationID + `"`, op.Summary} {
			if !strings.Contains(page, want) {
				t.Errorf("%s: the page lacks %s", where, want)
			}
		}
	})
	for path, item := range load(t).Paths.Map() {
		if !strings.Contains(page, "<code>"+path+"</code>") {
			t.Errorf("the page lacks the path %s", path)
		}
		for method := range item.Operations() {
			if !strings.Contains(page, `<span class="m `+method+`">`+method+`</span> <code>`+path+`</code>`) {
				t.Errorf("the page lacks %s %s", method, path)
			}
		}
	}
	for _, want := range []string{"$PUNCTUAL_API_KEY", "has_confict", "job.finished", "worker.state.rejected",
		"application/x-www-form-urlencoded", "$previous"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %s", want)
		}
	}
}

func TestReferenceLinksLeadSomewhere(t *testing.T) {
	page := rendered()
	ids := map[string]bool{}
	for _, m := range regexp.MustCompile(` id="([^"]*)"`).FindAllStringSubmatch(page, -1) {
		if ids[m[1]] {
			t.Errorf("two places have the id %s", m[1])
		}
		ids[m[1]] = true
	}
	for _, m := range regexp.MustCompile(` href="([^"]*)"`).FindAllStringSubmatch(page, -1) {
		id, local := strings.CutPrefix(m[1], "#")
		switch {
		case local && !ids[id]:
			t.Errorf("#%s leads nowhere", id)
		case !local && m[1] != "data:," && !strings.HasPrefix(m[1], "https://"):
			t.Errorf("%s is an odd link", m[1])
		}
	}
}

func TestReferenceStandsAlone(t *testing.T) {
	page := rendered()
	if len(page) > 640<<10 {
		t.Errorf("the page has %d bytes, want at most 640 KiB", len(page))
	}
	for _, banned := range []string{"<script", "<link rel=\"stylesheet", "<img", "<iframe", "@import", "url(", " style=", " src=",
		" onclick"} {
		if strings.Contains(page, banned) {
			t.Errorf("the page has %q", banned)
		}
	}
	if strings.Contains(page, "ZgotmplZ") {
		t.Error("the template refused a value")
	}
}

func TestReferenceMeetsItsPolicy(t *testing.T) {
	styles := regexp.MustCompile(`(?s)<style>(.*?)</style>`).FindAllSubmatch([]byte(rendered()), -1)
	if len(styles) != 1 {
		t.Fatalf("%d style sheets, want 1", len(styles))
	}
	sum := sha256.Sum256(styles[0][1])
	want := "style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	if _, policy := api.Reference(api.Frame{}); !strings.Contains(policy, want) || !strings.HasPrefix(policy, "default-src 'none'") {
		t.Errorf("the policy is %s, want %s in it", policy, want)
	}
}

func TestReferenceTakesAFrame(t *testing.T) {
	page, policy := api.Reference(api.Frame{Head: "<meta name=added>", Nav: "<p>added</p>"})
	if strings.Count(string(page), "<meta name=added></head>") != 1 || strings.Count(string(page), "<p>added</p>") != 2 {
		t.Error("the frame is not in the page")
	}
	if !strings.Contains(policy, "script-src 'self';") || !strings.HasPrefix(policy, "default-src 'none'") {
		t.Errorf("the policy is %s", policy)
	}
}
