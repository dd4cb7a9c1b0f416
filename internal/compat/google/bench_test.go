package google

import (
	"testing"

	"cloud.google.com/go/cloudtasks/apiv2/cloudtaskspb"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
)

// BenchmarkRead compares what CreateTask by gRPC and by REST costs until its job is known
// with what a create of the same job through the service's own API costs.
func BenchmarkRead(b *testing.B) {
	const url, body = "https://example.com/reminders", `{"to":"alex","text":"the meeting begins in five minutes"}`
	q := &queue{id: "abc", Queue: &cloudtaskspb.Queue{Name: "projects/p/locations/l/queues/q"}}
	if err := complete(q.Queue); err != nil {
		b.Fatal(err)
	}
	request := &cloudtaskspb.CreateTaskRequest{Parent: q.Name, Task: &cloudtaskspb.Task{
		MessageType: &cloudtaskspb.Task_HttpRequest{HttpRequest: &cloudtaskspb.HttpRequest{
			Url: url, Body: []byte(body), Headers: map[string]string{"Content-Type": "application/json", "X-Tenant": "7"},
		}},
	}}
	for name, format := range map[string]struct {
		encode func(proto.Message) ([]byte, error)
		decode func([]byte, proto.Message) error
	}{"grpc": {proto.Marshal, proto.Unmarshal}, "rest": {protojson.Marshal, protojson.Unmarshal}} {
		text, err := format.encode(request)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				read := &cloudtaskspb.CreateTaskRequest{}
				if err := format.decode(text, read); err != nil {
					b.Fatal(err)
				}
				request, err := (&API{}).createTask(q, read.GetTask())
				if err != nil {
					b.Fatal(err)
				}
				if _, err := job.Read(request, job.ReadOptions{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("create", func(b *testing.B) {
		request := rawjson.Value(`{"url":"` + url + `","method":"post","headers":{"Content-Type":"application/json","X-Tenant":"7"},"body":` +
			body + `,"limits":["mail"]}`)
		for b.Loop() {
			if _, err := job.Read(request, job.ReadOptions{}); err != nil {
				b.Fatal(err)
			}
		}
	})
}
