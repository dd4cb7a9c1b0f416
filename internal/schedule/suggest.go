package schedule

import "strings"

// areas are the first parts of the names of zones.
var areas = []string{"Europe", "America", "Asia", "Africa", "Australia", "Pacific", "Atlantic", "Indian", "Antarctica", "America/Argentina",
	"America/Indiana", "America/Kentucky", "US", "Etc"}

// abbreviations are common abbreviations and names that are no names of zones,
// with a zone where they are in use.
var abbreviations = map[string]string{
	"PST": "America/Los_Angeles", "PDT": "America/Los_Angeles", "PT": "America/Los_Angeles", "MDT": "America/Denver",
	"MT":  "America/Denver",
	"CST": "America/Chicago", "CDT": "America/Chicago", "CT": "America/Chicago", "EDT": "America/New_York", "ET": "America/New_York",
	"BST": "Europe/London", "CEST": "Europe/Berlin", "EEST": "Europe/Athens", "MSK": "Europe/Moscow",
	"IST": "Asia/Kolkata", "JST": "Asia/Tokyo", "KST": "Asia/Seoul", "SGT": "Asia/Singapore", "HKT": "Asia/Hong_Kong",
	"AEST": "Australia/Sydney", "AEDT": "Australia/Sydney", "AWST": "Australia/Perth", "NZST": "Pacific/Auckland",
	"NZDT":          "Pacific/Auckland",
	"SAN FRANCISCO": "America/Los_Angeles", "BEIJING": "Asia/Shanghai", "MUMBAI": "Asia/Kolkata", "DELHI": "Asia/Kolkata",
	"FRANKFURT": "Europe/Berlin",
	"MUNICH":    "Europe/Berlin", "GENEVA": "Europe/Zurich", "WASHINGTON": "America/New_York", "BOSTON": "America/New_York", "Z": "UTC",
	"ZULU": "UTC",
}

// SuggestZone returns the name of an IANA zone for a city, an abbreviation or a
// name in another case: Europe/Berlin for "Berlin" and "europe/berlin". It
// returns "" if it knows none.
func SuggestZone(text string) string {
	text = strings.TrimSpace(text)
	if text == "" || len(text) > 64 {
		return ""
	}
	if zone, ok := abbreviations[strings.ToUpper(text)]; ok {
		return zone
	}
	name := titled(text)
	if exists(name) {
		return name
	}
	if exists(strings.ToUpper(text)) {
		return strings.ToUpper(text)
	}
	for _, area := range areas {
		if zone := area + "/" + name; exists(zone) {
			return zone
		}
	}
	return ""
}

func exists(name string) bool {
	_, err := LoadZone(name)
	return err == nil
}

// titled writes a name as the database does: each word of each part with a
// capital, words joined by underscores.
func titled(text string) string {
	b := []byte(strings.ToLower(strings.ReplaceAll(text, " ", "_")))
	for i := range b {
		if letter := 'a' <= b[i] && b[i] <= 'z'; letter && (i == 0 || b[i-1] == '/' || b[i-1] == '_') {
			b[i] -= 'a' - 'A'
		}
	}
	return string(b)
}
