package bench

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/punctual-dev/punctual/internal/execute"
)

// What RunBare can be.
const (
	BareClient  = "client"
	BareHandler = "handler"
	BareLoad    = "load"
)

// bareConnections is how many connections to a host a client may have that makes
// each request at its time.
const bareConnections = 500

// RunBare is a process that the bench starts: what the service is compared with,
// which is a bare HTTP client or a bare handler of creates, both without a store,
// or the load, which creates jobs. It goes on until ctx or its input ends.
func RunBare(ctx context.Context, kind string, in io.Reader, out io.Writer) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	switch kind {
	case BareClient:
		return runBareClient(ctx, in, out)
	case BareHandler:
		go func() {
			_, _ = io.Copy(io.Discard, in) // whoever wanted it has gone
			stop()
		}()
		return runBareHandler(ctx, out)
	case BareLoad:
		return runLoad(ctx, in, out)
	}
	return fmt.Errorf("there is no bare %q", kind)
}

// bareOrder asks the bare client for requests, in one line of JSON. It answers
// with a bareReport when all have been made.
type bareOrder struct {
	Authority []byte   `json:"authority"` // PEM
	HTTP2     bool     `json:"http2"`
	Workers   int      `json:"workers"` // that make requests one after the other; 0: a timer for each
	URLs      []string `json:"urls"`    // called in turns
	First     int64    `json:"first"`   // number of the first job
	Due       []int64  `json:"due"`     // microseconds since 1970; with Workers, the first is for all
}

type bareReport struct {
	CPU    int64  `json:"cpu"` // nanoseconds of processor time
	Failed int    `json:"failed"`
	Error  string `json:"error,omitempty"` // the first
}

// runBareClient carries out orders, all with the same connections.
func runBareClient(ctx context.Context, in io.Reader, out io.Writer) error {
	if _, err := fmt.Fprintln(out, "ready"); err != nil {
		return err
	}
	var client *signingClient
	orders := json.NewDecoder(bufio.NewReader(in))
	for {
		var order bareOrder
		if err := orders.Decode(&order); errors.Is(err, io.EOF) || ctx.Err() != nil {
			return nil
		} else if err != nil {
			return err
		}
		if client == nil {
			var err error
			if client, err = order.newClient(); err != nil {
				return err
			}
		}
		report := order.carryOut(ctx, client)
		if err := json.NewEncoder(out).Encode(report); err != nil {
			return err
		}
	}
}

// signingClient makes the same requests as the service: with a signature by a secret and
// by a key, as those of an account have.
type signingClient struct {
	http    *http.Client
	signing execute.Signing
}

// newClient makes a client that keeps its connections, as the service does. It
// opens no more than one for each worker: without a limit, Go's client opens
// another whenever a request finds none free, and a herd opens nearly twice as
// many as it uses.
func (o *bareOrder) newClient() (*signingClient, error) {
	key, err := execute.NewKey()
	if err != nil {
		return nil, fmt.Errorf("make a signing key: %w", err)
	}
	secret := make(execute.Secret, 32)
	_, _ = rand.Read(secret) // never fails
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(o.Authority)
	most := max(o.Workers, bareConnections)
	transport := &http.Transport{
		Proxy: nil, ForceAttemptHTTP2: o.HTTP2, DisableCompression: true, MaxIdleConnsPerHost: most, MaxConnsPerHost: most,
		TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: pool},
	}
	if len(o.URLs) > 1 {
		// The service keeps sessions of all hosts. With a single host nothing
		// is ever taken up again, and to ask for sessions has its cost.
		transport.TLSClientConfig.ClientSessionCache = tls.NewLRUClientSessionCache(2 * len(o.URLs))
	}
	return &signingClient{
		http:    &http.Client{Timeout: callLimit, Transport: transport},
		signing: execute.Signing{Secrets: []execute.Secret{secret}, Keys: []execute.Key{key}},
	}, nil
}

func (o *bareOrder) carryOut(ctx context.Context, client *signingClient) bareReport {
	var report bareReport
	var mu sync.Mutex
	began := processorTime()
	post := func(i int) {
		err := o.post(ctx, client, i)
		if err == nil {
			return
		}
		mu.Lock()
		defer mu.Unlock()
		if report.Failed++; report.Failed == 1 {
			report.Error = err.Error()
		}
	}
	var wait sync.WaitGroup
	if o.Workers == 0 {
		wait.Add(len(o.Due))
		for i, due := range o.Due {
			time.AfterFunc(time.Until(time.UnixMicro(due)), func() { defer wait.Done(); post(i) })
		}
	}
	var next atomic.Int64
	for range o.Workers {
		wait.Go(func() {
			if sleepUntil(ctx, time.UnixMicro(o.Due[0])) != nil {
				return
			}
			for i := int(next.Add(1)) - 1; i < len(o.Due); i = int(next.Add(1)) - 1 {
				post(i)
			}
		})
	}
	wait.Wait()
	report.CPU = int64(processorTime() - began)
	return report
}

func (o *bareOrder) post(ctx context.Context, client *signingClient, i int) error {
	number := o.First + int64(i)
	body := appendBody(make([]byte, 0, bodyBytes), number, bodyBytes)
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, o.URLs[i%len(o.URLs)]+pathJob, bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header["Content-Type"] = []string{"application/json"}
	id, now := "bare_"+strconv.FormatInt(number, 10), time.Now().Unix()
	request.Header["Webhook-Id"] = []string{id}
	request.Header["Webhook-Timestamp"] = []string{strconv.FormatInt(now, 10)}
	request.Header["Webhook-Signature"] = []string{client.signing.Sign(id, now, body)}
	answer, err := client.http.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	if _, err := io.Copy(io.Discard, answer.Body); err != nil {
		return err
	}
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("the target answered %s", answer.Status)
	}
	return nil
}
