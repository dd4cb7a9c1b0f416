package harness

import (
	"regexp"
	"testing"
	"time"
)

var setupCode = regexp.MustCompile(`with the setup code (\S+)`)

// SetupCode returns the code that the first person to sign up needs, from what
// the program wrote last; the test fails when there is none.
func (s *Service) SetupCode(t testing.TB) string {
	t.Helper()
	code := ""
	Eventually(t, 10*time.Second, "a setup code", func() bool {
		if all := setupCode.FindAllStringSubmatch(s.Stdout(), -1); len(all) > 0 {
			code = all[len(all)-1][1]
		}
		return code != ""
	})
	return code
}
