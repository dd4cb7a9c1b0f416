package client

import (
	"context"
	"iter"
	"net/http"
)

// Target is a target of a group. Its headers win over those of a job.
type Target struct {
	Name    string         `json:"name"`
	URL     string         `json:"url"`
	Headers map[string]any `json:"headers,omitempty"`
}

// Group is a named list of 1 to 100 targets. A JobRequest with its name in Group becomes
// a job for each target.
type Group struct {
	Name       string   `json:"name"`
	Targets    []Target `json:"targets"`
	InsertedAt Time     `json:"inserted_at"`
	UpdatedAt  Time     `json:"updated_at"`
	// Revision rises with each change.
	Revision int64 `json:"revision"`
	// ETag is for IfMatch. Only GetGroup and PutGroup set it.
	ETag string `json:"-"`
}

// PutGroup creates the group with a name or replaces its targets.
func (c *Client) PutGroup(ctx context.Context, name string, targets []Target, conditions ...Condition) (*Group, error) {
	body := struct {
		Targets []Target `json:"targets"`
	}{targets}
	return c.group(ctx, call{method: http.MethodPut, path: "/api/groups" + element(name), body: body, header: condition(conditions)})
}

// group makes a call that answers with a group and its revision.
func (c *Client) group(ctx context.Context, call call) (*Group, error) {
	got, err := c.do(ctx, call)
	if err != nil {
		return nil, err
	}
	value, err := decode[enveloped[Group]](got)
	value.Data.ETag = got.Header.Get("ETag")
	return &value.Data, err
}

// ListGroups iterates over groups.
func (c *Client) ListGroups(ctx context.Context) iter.Seq2[Group, error] {
	return list[Group](ctx, c, "/api/groups", Page{}.values())
}

// GetGroup returns a group.
func (c *Client) GetGroup(ctx context.Context, name string) (*Group, error) {
	return c.group(ctx, call{method: http.MethodGet, path: "/api/groups" + element(name)})
}

// DeleteGroup deletes a group. It fails with status 409 while schedules name it.
func (c *Client) DeleteGroup(ctx context.Context, name string, conditions ...Condition) error {
	_, err := c.do(ctx, call{method: http.MethodDelete, path: "/api/groups" + element(name), header: condition(conditions)})
	return err
}
