package job

import (
	"hash/fnv"
	"net/url"
	"strings"
)

// Lane hashes the origin of a URL: runs of one lane go to one receiver, so
// that a slow one can be told from the others.
func Lane(target string) uint32 {
	u, err := url.Parse(target)
	if err != nil {
		return 0
	}
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(strings.ToLower(u.Host)))
	return hash.Sum32()
}
