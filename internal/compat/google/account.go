package google

import (
	"strings"

	"cloud.google.com/go/iam/apiv1/iampb"
	"google.golang.org/genproto/googleapis/cloud/location"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/limit"
)

// policyTag is the etag of the policy of all queues, which does not change.
var policyTag = []byte{0, 0}

// getPolicy returns a policy without bindings: who has a key of the account may do what
// the key's scope permits.
func (c *call) getPolicy(r *iampb.GetIamPolicyRequest) (*iampb.Policy, error) {
	if _, err := c.findQueue(r.GetResource()); err != nil {
		return nil, err
	}
	return &iampb.Policy{Version: 1, Etag: policyTag}, nil
}

func (c *call) setPolicy(r *iampb.SetIamPolicyRequest) (*iampb.Policy, error) {
	if _, err := c.findQueue(r.GetResource()); err != nil {
		return nil, err
	}
	if len(r.GetPolicy().GetBindings()) > 0 {
		return nil, fault.New(fault.NotImplemented,
			"policy.bindings are not available here: keys decide who may call; create a key with the scope that is needed")
	}
	return &iampb.Policy{Version: 1, Etag: policyTag}, nil
}

// maxPermissions bounds the permissions that a call tests.
const maxPermissions = 100

// readPermissions are the permissions of keys with the scope read.
var readPermissions = []string{".get", ".list", ".getIamPolicy", ".fullView"}

// testPermissions returns those of the permissions that the caller's key has.
func (c *call) testPermissions(r *iampb.TestIamPermissionsRequest) (*iampb.TestIamPermissionsResponse, error) {
	if !isQueue(r.GetResource()) {
		return nil, invalid("resource", queueFormat)
	}
	if len(r.GetPermissions()) > maxPermissions {
		return nil, invalid("permissions", "permissions may have 100 entries")
	}
	response := &iampb.TestIamPermissionsResponse{}
	for _, permission := range r.GetPermissions() {
		if !strings.HasPrefix(permission, "cloudtasks.") || strings.HasSuffix(permission, ".setIamPolicy") {
			continue
		}
		may := c.MayChange()
		for _, suffix := range readPermissions {
			may = may || strings.HasSuffix(permission, suffix)
		}
		if may {
			response.Permissions = append(response.Permissions, permission)
		}
	}
	return response, nil
}

// defaultLocation is the location of a project that has no queues and jobs yet.
const defaultLocation = "us-central1"

func isProject(name string) bool {
	_, ok := cutName(name, "projects")
	return ok
}

func locationNamed(name string) *location.Location {
	id := name[strings.LastIndexByte(name, '/')+1:]
	return &location.Location{Name: name, LocationId: id, DisplayName: id, Labels: map[string]string{"cloud.googleapis.com/region": id}}
}

// listLocations returns the locations of a project's queues: any name is a location.
func (c *call) listLocations(r *location.ListLocationsRequest) (*location.ListLocationsResponse, error) {
	if !isProject(r.GetName()) {
		return nil, invalid("name", `Project name must be formatted: "projects/<PROJECT_ID>"`)
	}
	records, err := c.api.Service.Limits(c.ctx, c.Owner, queuePrefix, limit.MaxPerAccount)
	if err != nil {
		return nil, err
	}
	response, seen := &location.ListLocationsResponse{}, map[string]bool{}
	for i := range records {
		q := readQueue(&records[i])
		if q == nil {
			continue
		}
		if name := parentOf(q.Name); parentOf(name) == r.GetName() && !seen[name] {
			seen[name] = true
			response.Locations = append(response.Locations, locationNamed(name))
		}
	}
	if len(response.Locations) == 0 {
		response.Locations = append(response.Locations, locationNamed(r.GetName()+"/locations/"+defaultLocation))
	}
	return response, nil
}

func (c *call) getLocation(r *location.GetLocationRequest) (*location.Location, error) {
	if !isLocation(r.GetName()) {
		return nil, invalid("name", locationFormat)
	}
	return locationNamed(r.GetName()), nil
}
