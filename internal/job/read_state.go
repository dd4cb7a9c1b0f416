package job

import (
	"strconv"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/rawjson"
)

// ReadState reads a schedule's $state. Its error is a fault.
func ReadState(body rawjson.Value) (rawjson.Value, error) {
	var problems []fault.Problem
	switch {
	case body.Kind() != '{':
		problems = append(problems, fault.Problem{Pointer: "#", Detail: "must be a JSON object"})
	case len(body) > MaxState:
		problems = append(problems, fault.Problem{
			Pointer: "#", Detail: "must have at most " + strconv.Itoa(MaxState) + " bytes without white space, it has " +
				strconv.Itoa(len(body)),
		})
	}
	return body, fault.Refuse(problems)
}
