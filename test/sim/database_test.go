package sim

import (
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/internal/store"
	"github.com/punctual-dev/punctual/internal/store/storetest"
)

// alone is a session that closes its database.
type alone struct{ *session }

func (a alone) Close() error { return a.db.close() }

// The database of the simulation is a store like any other, for the node that uses it
// alone.
func TestDatabase_IsAStore(t *testing.T) {
	if raced {
		t.Skip("the stores run these tests with the race detector themselves")
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(runtime.NumCPU()))
	storetest.Run(t, func(t *testing.T, clock func() time.Time) store.Store {
		for _, group := range []string{"Concurrency", "Suspects"} {
			if strings.Contains(t.Name(), "/"+group+"/") {
				t.Skip("a run makes one call at a time, and crashes at the preparation of an attempt are not simulated")
			}
		}
		file, err := emptyFile()
		if err != nil {
			t.Fatal(err)
		}
		d, err := openDatabase(t.TempDir(), file, 0)
		if err != nil {
			t.Fatal(err)
		}
		d.clock = clock
		s := d.connect(nil)
		d.caller = s
		return alone{s}
	})
}
