package lifecycle

import (
	"testing"

	"github.com/punctual-dev/punctual/internal/job"
)

func TestAppendReplied_MarksWhatIsCut(t *testing.T) {
	whole := &job.Response{Status: 200, Body: []byte("ab")}
	cut := &job.Response{Status: 200, Body: []byte("ab"), Truncated: true}
	for r, want := range map[*job.Response]string{
		whole: `"status":200,"header":{},"body":"YWI="`,
		cut:   `"status":200,"header":{},"body":"YWI=","truncated":true`,
	} {
		if got := string(appendReplied(nil, &job.Outcome{Response: r})); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
