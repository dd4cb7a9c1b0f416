package hostile

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"time"

	"cloud.google.com/go/cloudtasks/apiv2/cloudtaskspb"
	"golang.org/x/net/http2"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/punctual-dev/punctual/test/pace"
)

const (
	googleQueue  = "projects/p/locations/l/queues/"
	createTask   = "/google.cloud.tasks.v2.CloudTasks/CreateTask"
	createQueue  = "/google.cloud.tasks.v2.CloudTasks/CreateQueue"
	listTasks    = "/google.cloud.tasks.v2.CloudTasks/ListTasks"
	googleTarget = "https://127.0.0.1:1443/"
)

var servingGoogle = regexp.MustCompile(`(?m)^serving the Google-compatible APIs at (\S+)$`)

// google returns the address of the Google-compatible APIs.
func (a *arena) google() string {
	if found := servingGoogle.FindStringSubmatch(a.service.Stdout()); found != nil {
		return found[1]
	}
	a.t.Error("the service does not say where the Google-compatible APIs are")
	return a.host()
}

// streams returns an attack by clients that speak HTTP/2: each of n connections opens a
// stream with write, and writes on it for as long as the service reads. The ids of
// streams are odd and grow; a write gets the next one.
func streams(name string, n int, write func(s *strike, f *http2.Framer, id uint32) error) attack {
	return attack{name, func(ctx context.Context, s *strike) {
		address := s.google()
		var all sync.WaitGroup
		for range n {
			all.Go(func() {
				for ctx.Err() == nil {
					s.speak(ctx, address, write)
				}
			})
		}
		all.Wait()
	}}
}

// speak writes on one connection until the service or the context ends it.
func (s *strike) speak(ctx context.Context, address string, write func(s *strike, f *http2.Framer, id uint32) error) {
	stranger := strings.Replace(s.address, "127.0.", "127.1.", 1) // others count as trusted proxies
	conn, err := dialTo(ctx, address, stranger)
	if err != nil {
		pause(ctx, 10*time.Millisecond) // refused, as it may be
		return
	}
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	defer func() { _ = conn.Close() }()
	if _, err := io.WriteString(conn, http2.ClientPreface); err != nil {
		return
	}
	f := http2.NewFramer(conn, nil)
	f.AllowIllegalWrites = true
	if f.WriteSettings() != nil {
		return
	}
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		_, _ = io.Copy(io.Discard, conn)
		_ = conn.Close()
	}()
	for id := uint32(1); ctx.Err() == nil && write(s, f, id) == nil; id += 2 {
		runtime.Gosched() // the victim's target is in this process
	}
	_ = conn.(*net.TCPConn).CloseWrite() // the service may be gone
	select {
	case <-gone:
	case <-ctx.Done():
	}
}

// rpcHead returns the headers of a call by gRPC.
func rpcHead(key, path string, more ...string) []byte {
	return block(append([]string{":method", "POST", ":scheme", "http", ":authority", "localhost", ":path", path, "content-type",
		"application/grpc",
		"te", "trailers", "authorization", "Bearer " + key}, more...)...)
}

// opens writes the headers of a call.
func opens(f *http2.Framer, id uint32, head []byte) error {
	return f.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: head, EndHeaders: true})
}

// rpc returns an attack that makes calls by gRPC, eight at once.
func rpc(name, path string, message func(n int) []byte, headers ...string) attack {
	return attack{name, func(ctx context.Context, s *strike) {
		key, base := s.own(), "http://"+s.google()
		protocols := &http.Protocols{}
		protocols.SetUnencryptedHTTP2(true)
		dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(s.address)}, Timeout: 5 * time.Second}
		transport := &http.Transport{DialContext: dialer.DialContext, Protocols: protocols, DisableCompression: true}
		defer transport.CloseIdleConnections()
		client := &http.Client{Transport: transport, Timeout: pace.Guard(30 * time.Second)}
		all := append([]string{"Content-Type", "application/grpc", "TE", "trailers"}, headers...)
		s.flood(ctx, 8, func(n int) { s.sendTo(ctx, base, client, http.MethodPost, path, key, message(n), all...) })
	}}
}

// rest returns an attack that makes calls by REST.
func rest(name, method string, path func(n int) string, body string, headers ...string) attack {
	return attack{name, func(ctx context.Context, s *strike) {
		key, base := s.own(), "http://"+s.google()
		s.flood(ctx, 4, func(n int) { s.sendTo(ctx, base, s.client, method, path(n), key, []byte(body), headers...) })
	}}
}

// framed returns a message as gRPC sends it.
func framed(compressed byte, text []byte) []byte {
	return append(binary.BigEndian.AppendUint32([]byte{compressed}, uint32(len(text))), text...)
}

// encoded returns a message in its frame.
func encoded(m proto.Message) []byte {
	text, err := proto.Marshal(m)
	if err != nil {
		panic(err) // a message of ours can be encoded
	}
	return framed(0, text)
}

// same returns a message that is the same each time.
func same(text []byte) func(int) []byte { return func(int) []byte { return text } }

// task returns a task that is due in a year.
func task(queue string, change func(*cloudtaskspb.HttpRequest)) *cloudtaskspb.CreateTaskRequest {
	request := &cloudtaskspb.HttpRequest{Url: googleTarget, Headers: map[string]string{}}
	if change != nil {
		change(request)
	}
	return &cloudtaskspb.CreateTaskRequest{Parent: googleQueue + queue, Task: &cloudtaskspb.Task{
		ScheduleTime: timestamppb.New(time.Now().AddDate(1, 0, 0)), MessageType: &cloudtaskspb.Task_HttpRequest{HttpRequest: request},
	}}
}

// groups returns a message of unknown groups, one in the other.
func groups(depth int) []byte {
	return append(bytes.Repeat([]byte{0x7b}, depth), bytes.Repeat([]byte{0x7c}, depth)...)
}

func bomb(size int) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = z.Write(make([]byte, size)) // a buffer takes everything
	_ = z.Close()
	return b.Bytes()
}

// googleAttacks are those through the Google-compatible APIs.
var googleAttacks = []attack{
	streams("streams that are reset at once", 8, func(s *strike, f *http2.Framer, id uint32) error {
		if err := opens(f, id, rpcHead(s.key(), listTasks)); err != nil {
			return err
		}
		return f.WriteRSTStream(id, http2.ErrCodeCancel)
	}),
	streams("streams without a key that are reset", 8, func(_ *strike, f *http2.Framer, id uint32) error {
		if err := opens(f, id, rpcHead("none", createTask)); err != nil {
			return err
		}
		return f.WriteRSTStream(id, http2.ErrCodeCancel)
	}),
	streams("streams that never end", 32, func(s *strike, f *http2.Framer,
		id uint32) error {
		return opens(f, id, rpcHead(s.key(), createTask))
	}),
	streams("messages that never end", 32, func(s *strike, f *http2.Framer, id uint32) error {
		if err := opens(f, id, rpcHead(s.key(), createTask)); err != nil {
			return err
		}
		return f.WriteData(id, false, append([]byte{0, 0x7f, 0xff, 0xff, 0xff}, fill("a", 8*kib)...))
	}),
	streams("headers of a megabyte", 8, func(s *strike, f *http2.Framer, id uint32) error {
		err := f.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: rpcHead(s.key(), createTask)})
		for piece := block("x-a", fill("a", 8*kib)); err == nil; {
			err = f.WriteContinuation(id, false, piece)
		}
		return err
	}),
	streams("empty CONTINUATION", 8, func(s *strike, f *http2.Framer, id uint32) error {
		err := f.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: rpcHead(s.key(), createTask)})
		for err == nil {
			err = f.WriteContinuation(id, false, nil)
		}
		return err
	}),
	streams("a header that each stream repeats from the table", 8, func(s *strike, f *http2.Framer, id uint32) error {
		head := rpcHead(s.key(), createTask, "x-a", fill("a", 3*kib))
		return opens(f, id, append(head, bytes.Repeat([]byte{0xbe}, 8*kib)...))
	}),
	streams("empty DATA", 8, func(s *strike, f *http2.Framer, id uint32) error {
		err := opens(f, id, rpcHead(s.key(), createTask))
		for err == nil {
			err = f.WriteData(id, false, nil)
		}
		return err
	}),
	streams("PING", 8, func(_ *strike, f *http2.Framer, _ uint32) error { return f.WritePing(false, [8]byte{1}) }),
	streams("SETTINGS", 8, func(_ *strike, f *http2.Framer, _ uint32) error {
		return f.WriteSettings(http2.Setting{ID: http2.SettingHeaderTableSize, Val: 1 << 31})
	}),
	streams("PRIORITY", 8, func(_ *strike, f *http2.Framer, id uint32) error {
		return f.WritePriority(id, http2.PriorityParam{StreamDep: id + 2})
	}),
	streams("windows of one byte", 8, func(s *strike, f *http2.Framer, id uint32) error {
		if err := f.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0}); err != nil {
			return err
		}
		if err := opens(f, id, rpcHead(s.key(), listTasks)); err != nil {
			return err
		}
		if err := f.WriteData(id, true, encoded(&cloudtaskspb.ListTasksRequest{Parent: googleQueue + "q"})); err != nil {
			return err
		}
		return f.WriteWindowUpdate(id, 1)
	}),
	streams("frames of garbage", 8, func(_ *strike, f *http2.Framer, id uint32) error {
		return f.WriteRawFrame(http2.FrameType(id), 0xff, id, []byte(fill("\xff", kib)))
	}),
	rpc("a message of 150,000 groups", createTask, same(framed(0, groups(150_000)))),
	rpc("a message of garbage", createTask, same(framed(0, []byte(fill("\xff\x01", almost))))),
	rpc("a message that says it has 4 GiB", createTask, same(append([]byte{0, 0xff, 0xff, 0xff, 0xff}, "abc"...))),
	rpc("a message that is a bomb", createTask, same(framed(1, bomb(64*mib))), "Grpc-Encoding", "gzip"),
	rpc("10,000 headers of a task", createTask, same(encoded(task("q", func(r *cloudtaskspb.HttpRequest) {
		for i := range 10_000 {
			r.Headers[fmt.Sprint("h", i)] = "v"
		}
	})))),
	rpc("bodies of 900 KB", createTask, same(encoded(task("q",
		func(r *cloudtaskspb.HttpRequest) { r.Body = []byte(fill("\xff", 900*kib)) })))),
	rpc("a queue with each call", createQueue, func(n int) []byte {
		return encoded(&cloudtaskspb.CreateQueueRequest{
			Parent: strings.TrimSuffix(googleQueue, "/queues/"), Queue: &cloudtaskspb.Queue{Name: googleQueue + fmt.Sprint("q", n)},
		})
	}),
	rpc("a task name with each call", createTask, func(n int) []byte {
		request := task("q", nil)
		request.Task.Name = request.Parent + fmt.Sprint("/tasks/t", n)
		return encoded(request)
	}),
	rpc("page tokens of a megabyte", listTasks, same(encoded(&cloudtaskspb.ListTasksRequest{Parent: googleQueue + "q", PageSize: 1 << 30,
		PageToken: fill("t", almost)}))),
	rest("a task of arrays 400,000 deep", http.MethodPost, always("/v2/"+googleQueue+"q/tasks"),
		`{"task":`+nested("[", "", "]", 400_000)+"}"),
	rest("an update mask of 60,000 paths", http.MethodPatch, func(int) string {
		return "/v2/" + googleQueue + "q?updateMask=" + fill("rateLimits,", 30*kib)
	}, "{}"),
	rest("a path of 30 KB", http.MethodGet, func(n int) string { return "/v2/projects/" + fill("p", 30*kib) + fmt.Sprint(n) }, ""),
}
