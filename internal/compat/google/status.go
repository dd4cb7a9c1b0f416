package google

import (
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"google.golang.org/genproto/googleapis/rpc/code"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/punctual-dev/punctual/internal/fault"
)

// errorDomain is the domain of google.rpc.ErrorInfo.
const errorDomain = "punctual"

// codes has the google.rpc.Code for each kind of fault.
var codes = map[fault.Code]code.Code{
	fault.Internal: code.Code_INTERNAL, fault.Unreadable: code.Code_INVALID_ARGUMENT, fault.Unauthorized: code.Code_UNAUTHENTICATED,
	fault.NotFound: code.Code_NOT_FOUND, fault.MethodNotAllowed: code.Code_UNIMPLEMENTED, fault.TooLarge: code.Code_RESOURCE_EXHAUSTED,
	fault.UnsupportedMedia: code.Code_INVALID_ARGUMENT, fault.Invalid: code.Code_INVALID_ARGUMENT,
	fault.TooMany:   code.Code_RESOURCE_EXHAUSTED,
	fault.Forbidden: code.Code_PERMISSION_DENIED, fault.Unavailable: code.Code_UNAVAILABLE, fault.TooSlow: code.Code_DEADLINE_EXCEEDED,
	fault.Misdirected: code.Code_INVALID_ARGUMENT, fault.Conflict: code.Code_ABORTED, fault.Gone: code.Code_NOT_FOUND,
	fault.Stale: code.Code_ABORTED, fault.HeaderTooLarge: code.Code_RESOURCE_EXHAUSTED, fault.Unexpected: code.Code_INVALID_ARGUMENT,
	fault.NotImplemented: code.Code_UNIMPLEMENTED, fault.VersionNotSupported: code.Code_UNIMPLEMENTED,
}

// Reasons of faults that stand for a code of their own.
const (
	alreadyExists      = "already_exists"
	failedPrecondition = "failed_precondition"
)

var codesOfReasons = map[string]code.Code{
	alreadyExists: code.Code_ALREADY_EXISTS, failedPrecondition: code.Code_FAILED_PRECONDITION,
}

// statusOf returns a fault as these APIs tell it.
func statusOf(f *fault.Error) *status.Status {
	found, ok := codesOfReasons[f.Reason]
	if !ok {
		found = codes[f.Code]
	}
	s := &status.Status{Code: int32(found), Message: text(f.Message)}
	add := func(detail proto.Message) {
		if packed, err := anypb.New(detail); err == nil {
			s.Details = append(s.Details, packed)
		}
	}
	if f.Reason != "" {
		add(&errdetails.ErrorInfo{Reason: f.Reason, Domain: errorDomain})
	}
	if len(f.Problems) > 0 {
		bad := &errdetails.BadRequest{}
		for _, p := range f.Problems {
			field := p.Pointer
			if field == "" {
				field = p.Parameter
			}
			bad.FieldViolations = append(bad.FieldViolations,
				&errdetails.BadRequest_FieldViolation{Field: text(field), Description: text(p.Detail)})
		}
		add(bad)
	}
	if f.RetryAfter > 0 {
		add(&errdetails.RetryInfo{RetryDelay: durationpb.New(f.RetryAfter.Round(time.Millisecond))})
	}
	return s
}

// text returns a text that messages can have: one that quotes what a client has sent need
// not be UTF-8, and such a message can't be marshalled.
func text(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

// httpStatus returns the status of HTTP that stands for a code (google/rpc/code.proto).
func httpStatus(c int32) int {
	switch code.Code(c) {
	case code.Code_OK:
		return http.StatusOK
	case code.Code_INVALID_ARGUMENT, code.Code_FAILED_PRECONDITION, code.Code_OUT_OF_RANGE:
		return http.StatusBadRequest
	case code.Code_UNAUTHENTICATED:
		return http.StatusUnauthorized
	case code.Code_PERMISSION_DENIED:
		return http.StatusForbidden
	case code.Code_NOT_FOUND:
		return http.StatusNotFound
	case code.Code_ALREADY_EXISTS, code.Code_ABORTED:
		return http.StatusConflict
	case code.Code_RESOURCE_EXHAUSTED:
		return http.StatusTooManyRequests
	case code.Code_CANCELLED:
		return 499
	case code.Code_UNIMPLEMENTED:
		return http.StatusNotImplemented
	case code.Code_UNAVAILABLE:
		return http.StatusServiceUnavailable
	case code.Code_DEADLINE_EXCEEDED:
		return http.StatusGatewayTimeout
	}
	return http.StatusInternalServerError
}

// invalid returns the fault INVALID_ARGUMENT for a field of a request.
func invalid(field, message string) error {
	return &fault.Error{Code: fault.Invalid, Message: message, Problems: []fault.Problem{{Parameter: field, Detail: message}}}
}

// unsupported returns the fault for a field that this service has no counterpart of.
func unsupported(field, why string) error {
	return invalid(field, field+" is not available here: "+why)
}

func exists(message string) error {
	return &fault.Error{Code: fault.Conflict, Reason: alreadyExists, Message: message}
}

func precondition(message string) error {
	return &fault.Error{Code: fault.Conflict, Reason: failedPrecondition, Message: message}
}

func notFound(message string) error { return fault.New(fault.NotFound, message) }

func isNotFound(err error) bool { return err != nil && fault.CodeOf(err) == fault.NotFound }

// translated returns an error whose message names what clients have sent: the fields of
// jobs have other names.
func translated(err error, names map[string]string) error {
	var f *fault.Error
	if !errors.As(err, &f) || len(f.Problems) == 0 {
		return err
	}
	t := *f
	t.Problems = make([]fault.Problem, len(f.Problems))
	message := ""
	for i, p := range f.Problems {
		field := p.Pointer
		for from, to := range names {
			if field == "#/"+from || len(field) > len(from)+2 && field[:len(from)+3] == "#/"+from+"/" {
				field = to + field[len(from)+2:]
			}
		}
		t.Problems[i] = fault.Problem{Parameter: field, Detail: p.Detail}
		if i > 0 {
			message += "; "
		}
		message += t.Problems[i].Sentence()
	}
	if f.More > 0 {
		message += "; and " + strconv.Itoa(f.More) + " more"
	}
	t.Message = message
	return &t
}
