package google

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/httpapi"
)

// rpcType is the media type of gRPC, see
// https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md.
const rpcType = "application/grpc"

// frameHeader is the length of what comes before a message: whether it is compressed, and
// how long it is.
const frameHeader = 5

// isRPC reports whether a request is a call by gRPC.
func isRPC(r *http.Request) bool {
	given := r.Header.Get("Content-Type")
	return given == rpcType || strings.HasPrefix(given, rpcType+"+") || strings.HasPrefix(given, rpcType+";")
}

// serveRPC serves a call by gRPC.
func (a *API) serveRPC(f *httpapi.ForeignCall, m *method) error {
	r := f.Request
	if r.ProtoMajor < 2 {
		return fault.New(fault.VersionNotSupported, "gRPC needs HTTP/2; use it, or call the REST API")
	}
	if subtype := strings.TrimPrefix(r.Header.Get("Content-Type"), rpcType); subtype != "" && subtype != "+proto" && subtype[0] != ';' {
		return fault.New(fault.NotImplemented, "messages must be encoded as application/grpc+proto")
	}
	ctx, cancel, err := within(r.Context(), r.Header.Get("Grpc-Timeout"))
	if err != nil {
		return err
	}
	defer cancel()
	frame, err := f.ReadAll(maxMessage)
	if err != nil {
		return err
	}
	text, err := unframed(frame, r.Header.Get("Grpc-Encoding"))
	if err != nil {
		return err
	}
	request := m.request.New().Interface()
	if err := proto.Unmarshal(text, request); err != nil {
		return fault.New(fault.Unreadable, "the message can't be read as "+string(m.request.Descriptor().FullName()))
	}
	response, err := m.serve(&call{ForeignCall: f, api: a, ctx: ctx}, request)
	if err != nil {
		return err
	}
	return writeRPC(f, response)
}

// within returns a context that ends after the time in a header Grpc-Timeout.
func within(ctx context.Context, text string) (context.Context, context.CancelFunc, error) {
	if text == "" {
		return ctx, func() {}, nil
	}
	units := map[byte]time.Duration{'H': time.Hour, 'M': time.Minute, 'S': time.Second, 'm': time.Millisecond, 'u': time.Microsecond,
		'n': time.Nanosecond}
	unit := units[text[len(text)-1]]
	n, err := strconv.ParseUint(text[:len(text)-1], 10, 32)
	if err != nil || unit == 0 || len(text) > 9 {
		return nil, nil, fault.New(fault.Unreadable, "grpc-timeout must be up to 8 digits and a unit, as in 5S")
	}
	const most = time.Hour
	if n > uint64(most/unit) {
		n = uint64(most / unit)
	}
	ctx, cancel := context.WithTimeout(ctx, time.Duration(n)*unit)
	return ctx, cancel, nil
}

// unframed returns the one message in the body of a call.
func unframed(frame []byte, encoding string) ([]byte, error) {
	if len(frame) < frameHeader {
		return nil, fault.New(fault.Unreadable, "the call has no message")
	}
	length := binary.BigEndian.Uint32(frame[1:])
	text := frame[frameHeader:]
	if uint64(length) != uint64(len(text)) {
		return nil, fault.New(fault.Unreadable, "the call must have one message of the length that it states")
	}
	switch {
	case frame[0] == 0:
		return text, nil
	case frame[0] != 1 || encoding != "gzip":
		return nil, fault.New(fault.NotImplemented, "messages may be compressed by gzip only")
	}
	z, err := gzip.NewReader(bytes.NewReader(text))
	if err != nil {
		return nil, fault.New(fault.Unreadable, "the message can't be decompressed")
	}
	text, err = io.ReadAll(io.LimitReader(z, maxMessage+1))
	switch {
	case err != nil:
		return nil, fault.New(fault.Unreadable, "the message can't be decompressed")
	case len(text) > maxMessage:
		return nil, fault.New(fault.TooLarge, "the message must have at most 2 MiB, decompressed")
	}
	return text, nil
}

// writeRPC writes the response of a call by gRPC.
func writeRPC(w http.ResponseWriter, message proto.Message) error {
	frame := make([]byte, frameHeader, frameHeader+proto.Size(message))
	frame, err := proto.MarshalOptions{}.MarshalAppend(frame, message)
	if err != nil {
		return errors.Join(errors.New("encoding a response"), err)
	}
	binary.BigEndian.PutUint32(frame[1:], uint32(len(frame)-frameHeader)) // pages are far smaller
	header := w.Header()
	header.Set("Content-Type", rpcType+"+proto")
	header.Set("Grpc-Accept-Encoding", "identity,gzip")
	w.WriteHeader(http.StatusOK)
	_, _ = w.Write(frame) // fails only if the client is gone
	header.Set(http.TrailerPrefix+"Grpc-Status", "0")
	return nil
}

// failRPC writes an error as the response of a call by gRPC: headers only.
func failRPC(w http.ResponseWriter, s *status.Status) {
	header := w.Header()
	header.Set("Content-Type", rpcType+"+proto")
	header.Set("Grpc-Status", strconv.Itoa(int(s.GetCode())))
	header.Set("Grpc-Message", percentEncoded(s.GetMessage()))
	if details, err := proto.Marshal(s); err == nil {
		header.Set("Grpc-Status-Details-Bin", base64.RawStdEncoding.EncodeToString(details))
	}
	w.WriteHeader(http.StatusOK)
}

// maxStatusMessage bounds the message of a status, in bytes: clients bound headers.
const maxStatusMessage = 2 << 10

// percentEncoded returns a message as the header Grpc-Message has it.
func percentEncoded(message string) string {
	if len(message) > maxStatusMessage {
		message = message[:maxStatusMessage]
	}
	const hex = "0123456789ABCDEF"
	var b strings.Builder
	for i := range len(message) {
		if c := message[i]; c >= ' ' && c <= '~' && c != '%' {
			b.WriteByte(c)
		} else {
			b.Write([]byte{'%', hex[c>>4], hex[c&15]})
		}
	}
	return b.String()
}
