package cli

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/textproto"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/punctual-dev/punctual/client"
)

type verifyCommand struct {
	File       string        `arg:"" optional:"" default:"-" help:"A file with the body as it was received, byte for byte, or with the whole request (--request); - for standard input."`
	Header     []string      `short:"H" sep:"none" placeholder:"'NAME: VALUE'" help:"A header of the request: webhook-id, webhook-timestamp and webhook-signature. May be repeated."`
	Request    bool          `type:"switch" help:"The file has the headers as well: header lines, an empty line, the body."`
	SecretFile string        `placeholder:"FILE" help:"A file with a signing secret (whsec_…) or public key (whpk_…) in each line. Default: the environment variable PUNCTUAL_SIGNING_SECRET, else you are asked."`
	Tolerance  time.Duration `default:"5m" placeholder:"TIME" help:"How far the timestamp may be from now; 0 for any distance."`
	Quiet      bool          `short:"q" type:"switch" help:"Print nothing; the exit status tells the result."`
}

// maxSecrets bounds the file with signing secrets, in bytes.
const maxSecrets = 64 << 10

// Run verifies the signature of a webhook, a callback or a job's request.
func (c *verifyCommand) Run(env *environment) error {
	input, err := readInput(env, c.File, maxInput)
	if err != nil {
		return err
	}
	header, body, err := c.split(input)
	if err != nil {
		return err
	}
	verifier, err := c.verifier(env)
	if err != nil {
		return err
	}
	if err := verify(header, body, verifier, time.Now(), c.Tolerance); err != nil {
		return err
	}
	if c.Quiet {
		return nil
	}
	_, err = fmt.Fprintf(env.out, "the signature of %s is valid\n", printable(header.Get("webhook-id")))
	return err
}

// split returns the headers and the body.
func (c *verifyCommand) split(input []byte) (http.Header, []byte, error) {
	header, body := http.Header{}, input
	if c.Request {
		text := bufio.NewReader(bytes.NewReader(input))
		if line, err := text.Peek(min(len(input), 4096)); err == nil && isRequestLine(line) {
			_, _ = text.ReadSlice('\n')
		}
		fields, err := textproto.NewReader(text).ReadMIMEHeader()
		if err != nil && len(fields) == 0 {
			return nil, nil, failed(statusUsage, "%s must have header lines, an empty line and the body", c.File)
		}
		header = http.Header(fields)
		if body, err = io.ReadAll(text); err != nil {
			return nil, nil, err
		}
	}
	for _, h := range c.Header {
		name, value, err := splitHeader(h)
		if err != nil {
			return nil, nil, err
		}
		header.Set(name, value)
	}
	return header, body, nil
}

// isRequestLine reports whether text begins with a line such as "POST /hook HTTP/1.1".
func isRequestLine(text []byte) bool {
	line, _, _ := bytes.Cut(text, []byte("\n"))
	return bytes.Contains(line, []byte(" HTTP/"))
}

// verifier returns what verifies. No secret is taken from a flag: a command line
// can be seen by others.
func (c *verifyCommand) verifier(env *environment) (*client.Verifier, error) {
	text := os.Getenv("PUNCTUAL_SIGNING_SECRET")
	switch {
	case c.SecretFile != "":
		read, err := readInput(env, c.SecretFile, maxSecrets)
		if err != nil {
			return nil, err
		}
		text = string(read)
	case text == "" && c.File == "-":
		return nil, failed(statusUsage, "give the signing secret with --secret-file or PUNCTUAL_SIGNING_SECRET; standard input has the body")
	case text == "":
		typed, err := readHidden(env, "Signing secret (not shown): ")
		if err != nil {
			return nil, err
		}
		text = typed
	}
	words := strings.Fields(text)
	if len(words) == 0 {
		return nil, failed(statusUsage, "there is no signing secret; punctual accounts show EMAIL shows it, and the public keys")
	}
	for _, word := range words {
		if !strings.HasPrefix(word, "whsec_") && !strings.HasPrefix(word, "whpk_") {
			return nil, failed(statusUsage, "a signing secret must be whsec_ and base64, a public key whpk_ and base64")
		}
	}
	v, err := client.NewVerifier(words...)
	if err != nil {
		return nil, failed(statusUsage, "%w", err)
	}
	return v, nil
}

// verify returns an error that says why a message is not valid.
func verify(header http.Header, body []byte, v *client.Verifier, now time.Time, tolerance time.Duration) error {
	for _, name := range []string{"webhook-id", "webhook-timestamp", "webhook-signature"} {
		if header.Get(name) == "" {
			return failed(statusUsage, "the header %s is missing; give it with --header, or the whole request with --request", name)
		}
	}
	seconds, err := strconv.ParseInt(header.Get("webhook-timestamp"), 10, 64)
	if err != nil {
		return fmt.Errorf("not valid: webhook-timestamp must be unix seconds, not %q", header.Get("webhook-timestamp"))
	}
	v.Now = func() time.Time { return time.Unix(seconds, 0) }
	if _, err := v.Verify(header, body); err != nil {
		return fmt.Errorf("not valid: no signature matches; the body (%d bytes), the id or the timestamp was changed, or the secret is another account's", len(body))
	}
	if away := now.Sub(time.Unix(seconds, 0)).Abs(); tolerance > 0 && away > tolerance {
		return fmt.Errorf("not valid: the signature matches, but the timestamp is %s away from now, and %s is allowed",
			away.Round(time.Second), tolerance)
	}
	return nil
}
