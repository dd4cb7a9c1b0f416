package faulty

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/store"
)

// counting is a store that only counts how often it is pinged.
type counting struct {
	store.Store
	pings int
}

func (c *counting) Ping(context.Context) error {
	c.pings++
	return nil
}

var errBroken = errors.New("broken on purpose")

// Every method with a context must be wrapped. The wrapped store is nil, so that
// a method that is not wrapped panics.
func TestStore_EveryMethodCanFail(t *testing.T) {
	s := New(nil)
	s.SetAll(Fault{Err: errBroken})
	wrapper := reflect.TypeFor[store.Store]()
	found := 0
	for i := range wrapper.NumMethod() {
		method := wrapper.Method(i)
		if method.Type.NumIn() == 0 || method.Type.In(0) != reflect.TypeFor[context.Context]() {
			continue
		}
		found++
		in := []reflect.Value{reflect.ValueOf(t.Context())}
		for k := 1; k < method.Type.NumIn(); k++ {
			in = append(in, reflect.Zero(method.Type.In(k)))
		}
		out := reflect.ValueOf(s).MethodByName(method.Name).Call(in)
		if err, _ := out[len(out)-1].Interface().(error); !errors.Is(err, errBroken) {
			t.Errorf("%s returned %v", method.Name, err)
		}
		if s.Calls(method.Name) != 1 {
			t.Errorf("%s was called %d times", method.Name, s.Calls(method.Name))
		}
	}
	if found != len(methods) {
		t.Errorf("%d methods can fail, the interface has %d", len(methods), found)
	}
}

func TestStore_HasNoFaultsAtFirst(t *testing.T) {
	inner := &counting{}
	s := New(inner)
	if err := s.Ping(t.Context()); err != nil || inner.pings != 1 {
		t.Errorf("Ping = %v after %d", err, inner.pings)
	}
	s.Set("Ping", Fault{Err: errBroken})
	if err := s.Ping(t.Context()); !errors.Is(err, errBroken) || inner.pings != 1 {
		t.Errorf("Ping = %v after %d, want it to fail before anything is done", err, inner.pings)
	}
	s.Clear("Ping")
	if err := s.Ping(t.Context()); err != nil || inner.pings != 2 {
		t.Errorf("Ping = %v after %d", err, inner.pings)
	}
}

func TestFault_Late(t *testing.T) {
	inner := &counting{}
	s := New(inner)
	s.Set("Ping", Fault{Err: errBroken, Late: true})
	if err := s.Ping(t.Context()); !errors.Is(err, errBroken) || inner.pings != 1 {
		t.Errorf("Ping = %v after %d, want it done and failed", err, inner.pings)
	}
}

func TestFault_Times(t *testing.T) {
	s := New(&counting{})
	s.Set("Ping", Fault{Err: errBroken, Times: 2})
	for i, want := range []bool{true, true, false, false} {
		if err := s.Ping(t.Context()); (err != nil) != want {
			t.Errorf("call %d returned %v", i, err)
		}
	}
}

func TestFault_DelayEndsWithTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(&counting{})
		s.Set("Ping", Fault{Delay: time.Minute})
		began := time.Now()
		if err := s.Ping(t.Context()); err != nil || time.Since(began) != time.Minute {
			t.Errorf("Ping = %v after %v, want a minute", err, time.Since(began))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began = time.Now()
		if err := s.Ping(ctx); fault.CodeOf(err) != fault.Unavailable || time.Since(began) != time.Second {
			t.Errorf("Ping = %v after %v, want it to give up with its caller", err, time.Since(began))
		}
	})
}

func TestFault_GateBlocksCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner := &counting{}
		s := New(inner)
		gate := make(chan struct{})
		s.Set("Ping", Fault{Gate: gate, Times: 1})
		var wg sync.WaitGroup
		wg.Go(func() {
			if err := s.Ping(t.Context()); err != nil {
				t.Errorf("Ping = %v", err)
			}
		})
		synctest.Wait()
		if inner.pings != 0 || s.Calls("Ping") != 1 {
			t.Errorf("%d pings through the gate, %d calls", inner.pings, s.Calls("Ping"))
		}
		close(gate)
		wg.Wait()
		if inner.pings != 1 {
			t.Errorf("%d pings after the gate opened", inner.pings)
		}
	})
}

func TestSet_PanicsForAnUnknownMethod(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("a fault was set for a method that does not exist")
		}
	}()
	New(nil).Set("JobInsert", Fault{})
}

func TestNewAround_CarriesOutCallsThatCanFail(t *testing.T) {
	inner := &counting{}
	var methods []string
	s := NewAround(inner, func(_ context.Context, method string, call func() error) error {
		if methods = append(methods, method); len(methods) == 1 {
			return errBroken
		}
		return call()
	})
	for i, want := range []error{errBroken, nil} {
		if err := s.Ping(t.Context()); !errors.Is(err, want) || inner.pings != i {
			t.Errorf("call %d: Ping = %v after %d, want %v", i, err, inner.pings, want)
		}
	}
	if want := []string{"Ping", "Ping"}; !slices.Equal(methods, want) {
		t.Errorf("around was asked for %v, want %v", methods, want)
	}
}
