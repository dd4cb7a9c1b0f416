package importer

import (
	"errors"
	neturl "net/url"
	"strconv"
	"strings"

	"github.com/punctual-dev/punctual/internal/crontab"
	"github.com/punctual-dev/punctual/internal/rawjson"
)

// Vercel reads the cron jobs of a vercel.json. They are GET requests to paths of the
// project, at times in UTC.
func Vercel(text []byte, o Options) ([]crontab.Entry, error) {
	var file struct {
		Crons []struct{ Path, Schedule string }
	}
	if err := readJSON(text, &file); err != nil {
		return nil, err
	}
	if o.BaseURL == "" {
		return nil, errors.New("--base-url must say where the project is served, as in https://app.example.com")
	}
	if base, err := neturl.Parse(o.BaseURL); err != nil || base.Host == "" || strings.ContainsAny(o.BaseURL, "?#") {
		return nil, errors.New("--base-url must be a URL without query and fragment, because paths are appended to it, as in https://app.example.com")
	}
	at, seen := &lines{text: text}, map[string]int{}
	var entries []crontab.Entry
	for _, c := range file.Crons {
		line := at.of(`"` + c.Path + `"`)
		expr, err := fiveFields(c.Schedule)
		if err == nil {
			err = unionOfDays(expr)
		}
		if err == nil && !strings.HasPrefix(c.Path, "/") {
			err = errors.New("has a path that does not begin with /")
		}
		if err != nil {
			entries = append(entries, refused(line, c.Path, err))
			continue
		}
		url := strings.TrimSuffix(o.BaseURL, "/") + c.Path
		key := "vercel:" + c.Path
		if seen[c.Path]++; seen[c.Path] > 1 { // a path may have several times
			key += "#" + strconv.Itoa(seen[c.Path])
		}
		f := fields{}
		f.text("key", key)
		f.text("cron", expr)
		f.text("method", "GET")
		f.text("url", url)
		entries = append(entries, crontab.Entry{Line: line, Text: c.Path, Schedule: rawjson.Object(f), Zone: "UTC", Method: "GET",
			URL: url})
	}
	return entries, nil
}
