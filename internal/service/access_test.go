package service

import (
	"context"
	"reflect"
	"strings"
	"testing"

	"github.com/punctual-dev/punctual/internal/access"
	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/identity"
	"github.com/punctual-dev/punctual/internal/job"
)

// callWithout calls a method of a service without a store, as a caller with a role, and
// returns its error; nil if it got as far as to need the store.
func callWithout(method reflect.Value, role identity.Role) (err error) {
	defer func() {
		if recover() != nil {
			err = nil
		}
	}()
	kind := method.Type()
	ended, cancel := context.WithCancel(context.Background()) // so that what is permitted waits for nothing
	cancel()
	args := []reflect.Value{reflect.ValueOf(access.With(ended, role))}
	for i := 1; i < kind.NumIn(); i++ {
		args = append(args, reflect.Zero(kind.In(i)))
	}
	results := method.Call(args)
	err, _ = results[len(results)-1].Interface().(error)
	return err
}

// TestMethods_EnforceTheLeastRole walks every method for edges with every role.
func TestMethods_EnforceTheLeastRole(t *testing.T) {
	t.Parallel()
	owner, ctx := reflect.TypeFor[job.Owner](), reflect.TypeFor[context.Context]()
	walked := map[string]bool{}
	for prefix, service := range map[string]any{"service.": &Service{}, "service.Alerts.": &Alerts{}} {
		v := reflect.ValueOf(service)
		for i := range v.NumMethod() {
			name, method := prefix+v.Type().Method(i).Name, v.Method(i)
			kind := method.Type()
			if kind.NumIn() < 2 || kind.In(0) != ctx || kind.In(1) != owner {
				continue
			}
			least, listed := access.Least[name]
			if walked[name] = true; !listed {
				t.Errorf("%s is not in the table access.Least", name)
			}
			for _, role := range append([]identity.Role{""}, identity.Roles...) {
				err := callWithout(method, role)
				refused := err != nil && fault.CodeOf(err) == fault.Forbidden && strings.Contains(err.Error(), "needs the role")
				// Who isn't a viewer gets no session, and no key.
				if role != "" && refused == role.Includes(least) || role == "" && least != identity.RoleViewer && !refused {
					t.Errorf("%s by %q: %v, and it needs %q", name, role, err, least)
				}
			}
		}
	}
	for name := range access.Least {
		if strings.HasPrefix(name, "service.") && !walked[name] {
			t.Errorf("the table has %s, which is no method", name)
		}
	}
	if len(walked) < 70 {
		t.Errorf("only %d methods were walked", len(walked))
	}
}
