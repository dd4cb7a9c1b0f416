package differ

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
)

// call is a call of a sequence. Path and body may contain references, see resolve.
type call struct {
	number  int // references name it
	account int
	method  string
	path    string
	body    string
	headers map[string]string
	// walks follows the links to the next pages.
	walks bool
	// release is a gate of the target to open instead of sending a call; 0 for none.
	release int
}

func (c *call) String() string {
	if c.release > 0 {
		return fmt.Sprintf("%3d. the target answers /hold/%d", c.number, c.release)
	}
	text := fmt.Sprintf("%3d. %c %s %s", c.number, 'A'+c.account, c.method, c.path)
	for name, value := range c.headers {
		text += fmt.Sprintf(" (%s: %s)", name, value)
	}
	if c.body != "" {
		text += " " + c.body
	}
	return text
}

// ids are the records in a response, in the order in which they appear.
type ids struct {
	jobs       []string // integers
	records    []string // UUIDs of jobs
	schedules  []string
	operations []string
	etag       string
}

// noRecord stands for a record that a call has not returned.
const noRecord = "00000000-0000-4000-8000-000000000000"

var reference = regexp.MustCompile(`<(job|record|schedule|operation|etag):(\d+)(?:\.(\d+))?>`)

// resolve replaces the references in a text: <target> is the origin of the side's target,
// <hold:N> the URL of a gate, <job:N.i> the (i modulo their number)th job of the response
// to call N.
func (s *side) resolve(text string) string {
	text = strings.ReplaceAll(text, "<target>", s.target.url)
	text = strings.ReplaceAll(text, "<run>", strconv.Itoa(s.run))
	return reference.ReplaceAllStringFunc(text, func(ref string) string {
		parts := reference.FindStringSubmatch(ref)
		number, _ := strconv.Atoi(parts[2])
		which, _ := strconv.Atoi(parts[3])
		found := s.found[number]
		if parts[1] == "etag" {
			return found.etag
		}
		list := map[string][]string{"job": found.jobs, "record": found.records, "schedule": found.schedules,
			"operation": found.operations}[parts[1]]
		if len(list) == 0 {
			return noRecord
		}
		return list[which%len(list)]
	})
}

// idsOf collects the records of a response.
func idsOf(header http.Header, body []byte) (found ids) {
	found.etag = header.Get("ETag")
	var value any
	if json.Unmarshal(body, &value) == nil {
		found.collect(value)
	}
	return found
}

func (f *ids) collect(value any) {
	switch value := value.(type) {
	case []any:
		for _, element := range value {
			f.collect(element)
		}
	case map[string]any:
		id, _ := value["id"].(string)
		if number, ok := value["job_id"].(float64); ok && value["event"] == nil {
			f.jobs, f.records = append(f.jobs, strconv.FormatFloat(number, 'f', -1, 64)), append(f.records, id)
		}
		if schedule, ok := value["schedule_id"].(string); ok {
			f.schedules = append(f.schedules, schedule)
		}
		if value["frequency"] != nil {
			f.schedules = append(f.schedules, id)
		}
		if value["matched"] != nil && id != "" {
			f.operations = append(f.operations, id)
		}
		for _, name := range []string{"data", "job", "schedule"} {
			f.collect(value[name])
		}
	}
}
