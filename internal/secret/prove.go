package secret

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"github.com/punctual-dev/punctual/internal/execute"
	"github.com/punctual-dev/punctual/internal/identity"
	"github.com/punctual-dev/punctual/internal/issuer"
	"github.com/punctual-dev/punctual/internal/job"
)

// Proof is how a request proves who sends it.
type Proof struct {
	job.Auth
	// Claims are what a token says; the account and the audience are filled in.
	Claims issuer.Claims
}

// prove adds what a job's auth asks for to a request.
func (s *sending) prove(ctx context.Context, request *execute.Request) *job.Failure {
	switch {
	case s.proof.OIDC != nil:
		return s.token(request)
	case s.proof.MTLS != "":
		h, c, failure := s.secretFor(ctx, s.proof.MTLS, job.SecretCertificate, request.URL)
		if failure != nil {
			return failure
		}
		certificate, err := s.vault.certificates.get(certificateKey{s.owner.Number, h.Name}, h.UpdatedAt.UnixMicro(), c.Certificate)
		if err != nil {
			return failed("the certificate of the secret " + h.Name + " can't be used: " + err.Error())
		}
		request.Party.Certificate = certificate
	case s.proof.AWS != nil:
		_, c, failure := s.secretFor(ctx, s.proof.AWS.Secret, job.SecretAccessKey, request.URL)
		if failure != nil {
			return failure
		}
		request.Plain = true
		request.Authorize = s.signer(ctx, c.AccessKey, request)
	}
	return nil
}

// token adds a token to the header. It goes to the first origin only, as the whole
// header does.
func (s *sending) token(request *execute.Request) *job.Failure {
	if s.vault.Token == nil {
		return failed("tokens can't be issued: the service needs --public-url and --secrets-key-file")
	}
	if s.bearer == "" {
		claims := s.proof.Claims
		claims.Account, claims.Audience, claims.Email = s.owner.ID, s.proof.OIDC.Audience, s.proof.OIDC.Email
		if claims.Audience == "" {
			claims.Audience = originOf(request.URL)
		}
		var err error
		if s.bearer, err = s.vault.Token(claims); err != nil {
			return failed("no token could be issued: " + err.Error())
		}
		s.hide(s.bearer)
		s.sent = append(s.sent, s.bearer)
	}
	request.Plain = true
	request.Header = append(slices.Clip(request.Header), execute.Field{Name: "Authorization", Value: "Bearer " + s.bearer})
	return nil
}

// originOf returns the origin of a URL: its scheme, host and port (RFC 6454).
func originOf(target string) string {
	u, err := url.Parse(target)
	if err != nil {
		return ""
	}
	host := strings.ToLower(u.Host)
	switch u.Scheme {
	case "https":
		host = strings.TrimSuffix(host, ":443")
	case "http":
		host = strings.TrimSuffix(host, ":80")
	}
	return u.Scheme + "://" + host
}

// secretFor returns a secret of a kind, decrypted.
func (s *sending) secretFor(ctx context.Context, name string, kind job.SecretKind,
	target string) (*identity.HeaderSecret, *content, *job.Failure) {
	found, failure := s.find(ctx, []string{name}, target)
	if failure != nil {
		return nil, nil, failure
	}
	c, failure := s.decrypt(found[0], job.IsPlainHTTP(target))
	if failure == nil && c.kind() != kind {
		failure = failed("the secret " + name + " is " + kindNames[c.kind()] + "; this needs " + kindNames[kind])
	}
	return found[0], c, failure
}

// awsPrefix begins the headers of AWS, all of which must be signed.
const awsPrefix = "x-amz-"

// signer returns what signs the requests of an attempt as AWS defines it (SigV4). Only
// what AWS requires is signed, so that proxies may change other fields.
func (s *sending) signer(ctx context.Context, k *accessKey, request *execute.Request) func(*http.Request, []byte) *job.Failure {
	s.hide(k.Secret)
	if k.SessionToken != "" {
		s.hide(k.SessionToken)
		s.sent = append(s.sent, k.SessionToken)
	}
	service, region := s.proof.AWS.Service, s.proof.AWS.Region
	return func(r *http.Request, body []byte) *job.Failure {
		sum := sha256.Sum256(body)
		hash := hex.EncodeToString(sum[:])
		signed := &http.Request{Method: r.Method, URL: cloned(r.URL), Host: r.Host, Header: http.Header{}}
		for name, values := range r.Header {
			if lower := strings.ToLower(name); lower == "content-type" || strings.HasPrefix(lower, awsPrefix) {
				signed.Header[name] = values
			}
		}
		var own []string
		if signsHash(service) {
			own = append(own, "X-Amz-Content-Sha256")
			signed.Header.Set("X-Amz-Content-Sha256", hash)
		}
		credentials := aws.Credentials{AccessKeyID: k.ID, SecretAccessKey: k.Secret, SessionToken: k.SessionToken}
		if err := awsSigner(service).SignHTTP(ctx, credentials, signed, hash, service, region, time.Now()); err != nil {
			return failed("the request could not be signed for AWS: " + err.Error())
		}
		for _, name := range append(own, "Authorization", "X-Amz-Date", "X-Amz-Security-Token") {
			if value := signed.Header.Get(name); value != "" {
				r.Header[name] = []string{value}
			}
		}
		authorization := signed.Header.Get("Authorization")
		_, signature, _ := strings.Cut(authorization, "Signature=")
		s.hide(authorization)
		s.hide(signature)
		s.sent = append(s.sent, authorization, signature)
		return s.keep(ctx, request)
	}
}

// awsSigner returns what signs requests to a service of AWS.
func awsSigner(service string) *v4.Signer {
	return v4.NewSigner(func(o *v4.SignerOptions) { o.DisableURIPathEscaping = strings.HasPrefix(service, "s3") })
}

// signsHash reports whether a service expects the hash of the body in a header.
func signsHash(service string) bool {
	return strings.HasPrefix(service, "s3") || slices.Contains([]string{"glacier", "aoss", "vpc-lattice-svcs"}, service)
}

func cloned(u *url.URL) *url.URL {
	c := *u
	return &c
}
