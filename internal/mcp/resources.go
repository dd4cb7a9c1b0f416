package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/punctual-dev/punctual/internal/docsite"
	"github.com/punctual-dev/punctual/internal/rawjson"
)

const scheme = "punctual://"

// records are the templates of records: the part of the URI before the id, and the path
// of the call.
var records = []struct{ name, title, about, host, path, id string }{
	{"job", "A job", "A job's record, attempts and next steps, by its number or id.", "jobs", jobPath + "/details", "job_id"},
	{"operation", "An operation", "How far a change of many jobs is, by its id.", "operations", operationsPath + "/{operation_id}",
		"operation_id"},
	{"schedule", "A schedule", "A schedule's record, next runs and last run, by its id.", "schedules", schedulePath + "/details",
		"schedule_id"},
}

// maxGuide bounds a guide that is read, in bytes.
const maxGuide = 128 << 10

// addResources adds the guides, and templates for records.
func (s *Server) addResources(server *sdk.Server) {
	for _, record := range records {
		server.AddResourceTemplate(&sdk.ResourceTemplate{
			Name: record.name, Title: record.title, Description: record.about, MIMEType: "application/json",
			URITemplate: scheme + record.host + "/{" + record.id + "}",
		}, func(ctx context.Context, r *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
			caller, ctx, done := s.caller(ctx)
			defer done()
			return caller.readRecord(ctx, r.Params.URI, scheme+record.host+"/", record.path, record.id)
		})
	}
	for _, guide := range docsite.Guides() {
		uri := scheme + "guides/" + guide.Name
		server.AddResource(&sdk.Resource{
			Name: guide.Name, Title: guide.Title, Description: guide.About, MIMEType: "text/markdown", URI: uri,
		}, func(context.Context, *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
			text := clip(string(guide.Markdown()), maxGuide)
			return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: uri, MIMEType: "text/markdown", Text: text}}}, nil
		})
	}
}

// readRecord reads a record by its URI.
func (s *session) readRecord(ctx context.Context, uri, prefix, pattern, id string) (*sdk.ReadResourceResult, error) {
	a := &arguments{given: []rawjson.Member{{Name: id, Value: rawjson.Quote(strings.TrimPrefix(uri, prefix))}}}
	path, err := a.path(pattern)
	if err != nil {
		return nil, sdk.ResourceNotFoundError(clip(uri, 200))
	}
	got, err := s.do(ctx, http.MethodGet, path, "", nil)
	var f *refusal
	switch {
	case errors.As(err, &f) && f.Status == http.StatusNotFound:
		return nil, sdk.ResourceNotFoundError(clip(uri, 200))
	case errors.As(err, &f):
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: clip(f.Detail, maxDetail) + " " + afterRefusal(f)}
	case err != nil:
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "the service can't be reached, or did not respond in time"}
	}
	data, _, _ := bounded(got.data, maxData)
	text, err := json.Marshal(struct {
		Notice string          `json:"notice"`
		Data   json.RawMessage `json:"data"`
	}{notice, json.RawMessage(data)})
	if err != nil {
		return nil, err
	}
	return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: uri, MIMEType: "application/json", Text: string(text)}}}, nil
}
