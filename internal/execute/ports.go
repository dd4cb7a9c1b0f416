package execute

import (
	"errors"
	"slices"
	"strconv"
	"strings"
)

// Ports is the set of target ports that may be called. The zero value permits
// none.
type Ports struct {
	text   string
	ranges []portRange
}

type portRange struct{ first, last uint16 }

// DefaultPorts are the ports that may be called by default, in the form that
// ParsePorts parses.
const DefaultPorts = "443,1024-65535"

var errPorts = errors.New("must be ports and ranges of ports separated by commas, as in " + DefaultPorts)

// ParsePorts parses ports and port ranges from 1 to 65535, separated by commas:
// "443,8443,9000-9999".
func ParsePorts(text string) (Ports, error) {
	p := Ports{text: strings.ReplaceAll(text, " ", "")}
	for part := range strings.SplitSeq(p.text, ",") {
		from, to, isRange := strings.Cut(part, "-")
		if !isRange {
			to = from
		}
		first, err := strconv.ParseUint(from, 10, 16)
		last, err2 := strconv.ParseUint(to, 10, 16)
		if err != nil || err2 != nil || first == 0 || last < first {
			return Ports{}, errPorts
		}
		p.ranges = append(p.ranges, portRange{uint16(first), uint16(last)})
	}
	return p, nil
}

// String returns the ports as they were given.
func (p Ports) String() string { return p.text }

// permits reports whether a port may be called. A port that browsers block
// needs an entry of its own; a range around it does not permit it.
func (p Ports) permits(port uint16) bool {
	_, bad := slices.BinarySearch(badPorts, port)
	return slices.ContainsFunc(p.ranges, func(r portRange) bool { return r.includes(port) && (!bad || r.first == r.last) })
}

// includes reports whether a port is in one of the ranges, permitted or not.
func (p Ports) includes(port uint16) bool {
	return slices.ContainsFunc(p.ranges, func(r portRange) bool { return r.includes(port) })
}

func (r portRange) includes(port uint16) bool { return r.first <= port && port <= r.last }

// badPorts are the ports that the Fetch Standard blocks (section "Port
// blocking"), because their services could mistake an HTTP request for their
// own protocol. In ascending order.
var badPorts = []uint16{
	0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103, 104, 109, 110, 111, 113,
	115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 512, 513, 514, 515, 526, 530, 531, 532, 540, 548, 554, 556, 563,
	587, 601, 636, 989, 990, 993, 995, 1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667, 6668, 6669,
	6679, 6697, 10080,
}
