package cli

import "errors"

// googleFlags are the flags of serve for the Google-compatible APIs.
type googleFlags struct {
	GoogleListen  string `setting:"" placeholder:"ADDR" help:"Address to serve the Cloud Tasks and Cloud Scheduler APIs on, by gRPC and REST; port 0 picks a free one. Default: they are not served."`
	GoogleTLSCert string `name:"google-tls-cert" setting:"" placeholder:"FILE" help:"PEM certificate of --google-listen, with its chain. Default: no encryption."`
	GoogleTLSKey  string `name:"google-tls-key" setting:"" placeholder:"FILE" help:"PEM private key of --google-tls-cert."`
	AppEngineURL  origin `name:"app-engine-url" setting:"" placeholder:"URL" help:"Where App Engine targets are: a scheme and a host. Default: such targets are refused."`
}

// check reports flags that need each other.
func (f *googleFlags) check() error {
	switch {
	case (f.GoogleTLSCert == "") != (f.GoogleTLSKey == ""):
		return errors.New("--google-tls-cert and --google-tls-key need each other; give both, or none")
	case f.GoogleListen == "" && (f.GoogleTLSCert != "" || f.AppEngineURL.URL != nil):
		return errors.New("--google-tls-cert and --app-engine-url need --google-listen; give an address, as in 127.0.0.1:8123")
	}
	return nil
}
