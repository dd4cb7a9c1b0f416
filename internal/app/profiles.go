package app

import (
	"net/http"
	"net/http/pprof"
)

// withProfiles adds Go's profiles to the handler of operations. They show what is in
// memory and cost CPU, so the public address never has them. The command line is left
// out: flags may be credentials.
func withProfiles(operations http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	mux.Handle("/", operations)
	return mux
}
