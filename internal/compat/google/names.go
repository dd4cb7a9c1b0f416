package google

import (
	"crypto/sha256"
	"encoding/base32"
	"strings"
)

const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"

// Bounds of the parts of names, in characters.
const (
	maxPart  = 100 // of a project, a location or a queue
	maxID    = 500 // of a task or a Scheduler job
	maxQueue = 255 // of the whole name of a queue
)

// What names must be, as Google's errors say it.
const (
	locationFormat = `Parent name must be formatted: "projects/<PROJECT_ID>/locations/<LOCATION_ID>"`
	queueFormat    = `Queue name must be formatted: "projects/<PROJECT_ID>/locations/<LOCATION_ID>/queues/<QUEUE_ID>"`
	taskFormat     = `Task name must be formatted: "projects/<PROJECT_ID>/locations/<LOCATION_ID>/queues/<QUEUE_ID>/tasks/<TASK_ID>"`
	jobFormat      = `Job name must be formatted: "projects/<PROJECT_ID>/locations/<LOCATION_ID>/jobs/<JOB_ID>"`
)

func isPart(text, more string, most int) bool {
	return text != "" && len(text) <= most && strings.Trim(text, letters+more) == ""
}

// cutName cuts a name into the parts after the collections that it must have.
func cutName(name string, collections ...string) (parts []string, ok bool) {
	given := strings.Split(name, "/")
	if len(given) != 2*len(collections) {
		return nil, false
	}
	for i, collection := range collections {
		if given[2*i] != collection {
			return nil, false
		}
		parts = append(parts, given[2*i+1])
	}
	return parts, isPart(parts[0], "-:._", maxPart) && (len(parts) < 2 || isPart(parts[1], "-_", maxPart))
}

func isLocation(name string) bool {
	_, ok := cutName(name, "projects", "locations")
	return ok
}

func isQueue(name string) bool {
	parts, ok := cutName(name, "projects", "locations", "queues")
	return ok && isPart(parts[2], "-_", maxPart) && len(name) <= maxQueue
}

func isTask(name string) bool {
	parts, ok := cutName(name, "projects", "locations", "queues", "tasks")
	return ok && isQueue(queueOf(name)) && isPart(parts[3], "-_", maxID)
}

func isJob(name string) bool {
	parts, ok := cutName(name, "projects", "locations", "jobs")
	return ok && isPart(parts[2], "-_", maxID)
}

// parentOf returns a name without its last collection.
func parentOf(name string) string {
	for range 2 {
		name = name[:max(0, strings.LastIndexByte(name, '/'))]
	}
	return name
}

// queueOf returns the name of a task's queue.
func queueOf(task string) string { return parentOf(task) }

var hashEncoding = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// hashed returns the beginning of the hash of a text as n letters and digits.
func hashed(text string, n int) string {
	sum := sha256.Sum256([]byte(text))
	return hashEncoding.EncodeToString(sum[:])[:n]
}

// Parts of the keys of limits.
const (
	queuePrefix = "cloud-tasks:"
	queueHash   = 16
	maxLimitKey = 64
)

// limitKey returns the key of the limit that is a queue: the queue's id, as far as it
// fits, and a hash of its whole name.
func limitKey(queue string) string {
	id := queue[strings.LastIndexByte(queue, '/')+1:]
	return queuePrefix + id[:min(len(id), maxLimitKey-len(queuePrefix)-queueHash-1)] + "." + hashed(queue, queueHash)
}

// maxKey is the greatest length of an idempotency key.
const maxKey = 255

// shortened returns a text as a key that is not too long.
func shortened(text string) string {
	const hash = 32
	if len(text) <= maxKey {
		return text
	}
	return text[:maxKey-hash-1] + "." + hashed(text, hash)
}
