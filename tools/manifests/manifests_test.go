// Package manifests checks deploy/kubernetes and deploy/helm against the types of Kubernetes. It is in
// this module because those types are large; `make lint` runs it.
package manifests

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"

	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	policy "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// kinds are the types of documents.
var kinds = map[v1.TypeMeta]func() any{
	{APIVersion: "v1", Kind: "Namespace"}:                       func() any { return new(core.Namespace) },
	{APIVersion: "v1", Kind: "ConfigMap"}:                       func() any { return new(core.ConfigMap) },
	{APIVersion: "v1", Kind: "Service"}:                         func() any { return new(core.Service) },
	{APIVersion: "apps/v1", Kind: "Deployment"}:                 func() any { return new(apps.Deployment) },
	{APIVersion: "policy/v1", Kind: "PodDisruptionBudget"}:      func() any { return new(policy.PodDisruptionBudget) },
	{APIVersion: "networking.k8s.io/v1", Kind: "Ingress"}:       func() any { return new(networking.Ingress) },
	{APIVersion: "networking.k8s.io/v1", Kind: "NetworkPolicy"}: func() any { return new(networking.NetworkPolicy) },
}

func TestManifests_AreOfTheirTypes(t *testing.T) {
	files, err := filepath.Glob("../../deploy/kubernetes/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var found []any
	for _, name := range files {
		if filepath.Base(name) == "kustomization.yaml" {
			continue
		}
		for _, document := range bytes.Split(file(t, name), []byte("\n---\n")) {
			_, into := decode(t, name, document)
			found = append(found, into)
		}
	}
	if len(found) != 7 {
		t.Errorf("%d documents, want 7", len(found))
	}
	for _, one := range found {
		switch o := one.(type) {
		case *apps.Deployment:
			deployment(t, o)
		case *policy.PodDisruptionBudget:
			if o.Spec.MinAvailable.IntValue() != 1 || o.Spec.Selector.MatchLabels["app.kubernetes.io/name"] != "punctual" {
				t.Errorf("the disruption budget is %+v", o.Spec)
			}
		case *core.Service:
			if o.Spec.Selector["app.kubernetes.io/name"] != "punctual" {
				t.Errorf("the service %s selects %v", o.Name, o.Spec.Selector)
			}
		case *networking.NetworkPolicy:
			if len(o.Spec.Ingress) != 2 || len(o.Spec.Egress) != 4 || len(o.Spec.PolicyTypes) != 2 {
				t.Errorf("the network policy is %+v", o.Spec)
			}
		}
	}
}

// file returns the text of a file.
func file(t *testing.T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// decode decodes a document strictly, and returns its kind and name.
func decode(t *testing.T, name string, document []byte) (key string, into any) {
	t.Helper()
	var meta struct {
		v1.TypeMeta
		Metadata struct{ Name string }
	}
	if err := yaml.Unmarshal(document, &meta); err != nil {
		t.Fatalf("%s: %v\n%s", name, err, document)
	}
	if kinds[meta.TypeMeta] == nil {
		t.Fatalf("%s: unknown kind %+v", name, meta)
	}
	into = kinds[meta.TypeMeta]()
	if err := yaml.UnmarshalStrict(document, into); err != nil {
		t.Errorf("%s: %v\n%s", name, err, document)
	}
	return meta.Kind + " " + meta.Metadata.Name, into
}

// deployment checks what the types leave open.
func deployment(t *testing.T, d *apps.Deployment) {
	pod := d.Spec.Template.Spec
	if *d.Spec.Replicas != 2 || len(pod.Containers) != 1 || *pod.AutomountServiceAccountToken || !*pod.SecurityContext.RunAsNonRoot {
		t.Fatalf("the deployment is %+v", d.Spec)
	}
	c := pod.Containers[0]
	s := c.SecurityContext
	if *s.AllowPrivilegeEscalation || !*s.ReadOnlyRootFilesystem || !slices.Equal(s.Capabilities.Drop, []core.Capability{"ALL"}) {
		t.Errorf("the container may do too much: %+v", s)
	}
	if got := c.ReadinessProbe.HTTPGet; got.Path != "/readyz" || got.Port.StrVal != "http" {
		t.Errorf("readiness is %+v", got)
	}
	if got := c.LivenessProbe.HTTPGet; got.Path != "/healthz" {
		t.Errorf("liveness is %+v: a lost database must not restart nodes", got)
	}
	if c.Env[0].ValueFrom.SecretKeyRef.Key != "database-url" {
		t.Error("the database's URL, which has a password, is not from a secret")
	}
	// A drain of 10 s and 30 s for attempts under way.
	if *pod.TerminationGracePeriodSeconds < 45 {
		t.Errorf("it is killed after %d s", *pod.TerminationGracePeriodSeconds)
	}
}
