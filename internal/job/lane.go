package job

import (
	"hash/fnv"
	"net/url"
	"strings"
)

// Lane returns a hash of a URL's origin. Queue items of one lane go to one
// receiver, so that the engine can tell a slow receiver from the others.
func Lane(target string) uint32 {
	u, err := url.Parse(target)
	if err != nil {
		return 0
	}
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(strings.ToLower(u.Host)))
	return hash.Sum32()
}
