package manifests

import (
	"errors"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"text/template"

	"github.com/Masterminds/sprig/v3"
	"github.com/santhosh-tekuri/jsonschema/v6"
	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	policy "k8s.io/api/policy/v1"
	"sigs.k8s.io/yaml"
)

const chartDirectory = "../../deploy/helm/punctual"

// render returns the documents of the chart with these values, decoded strictly, by kind
// and name. It renders as Helm does, by the same template engine and functions: Helm as a
// library costs minutes to compile, for the client of Kubernetes that it includes.
func render(t *testing.T, values string) (map[string]any, error) {
	t.Helper()
	var chart struct{ Name, Version, AppVersion string }
	all, given := map[string]any{}, map[string]any{}
	for text, into := range map[string]any{ // the keys are documents
		string(file(t, chartDirectory+"/Chart.yaml")): &chart, string(file(t, chartDirectory+"/values.yaml")): &all, values: &given,
	} {
		if err := yaml.Unmarshal([]byte(text), into); err != nil {
			t.Fatal(err)
		}
	}
	override(all, given)
	if err := validate(t, all); err != nil {
		return nil, err
	}
	data := map[string]any{
		"Values": all, "Chart": chart, "Release": map[string]any{"Name": "punctual", "Namespace": "jobs", "Service": "Helm"},
		"Template": map[string]any{"BasePath": "templates"},
	}
	set := template.New("").Option("missingkey=error")
	set.Funcs(sprig.TxtFuncMap()).Funcs(functions(set))
	files, err := filepath.Glob(chartDirectory + "/templates/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		template.Must(set.New("templates/" + filepath.Base(name)).Parse(string(file(t, name))))
	}
	found := map[string]any{}
	for _, name := range files {
		var out strings.Builder
		if err := set.ExecuteTemplate(&out, "templates/"+filepath.Base(name), data); err != nil {
			return nil, err
		}
		if filepath.Ext(name) != ".yaml" {
			continue
		}
		for _, document := range strings.Split(out.String(), "\n---\n") {
			if strings.TrimSpace(document) != "" {
				key, into := decode(t, name, []byte(document))
				found[key] = into
			}
		}
	}
	return found, nil
}

// override puts given values over the defaults, member by member.
func override(defaults, given map[string]any) {
	for name, value := range given {
		members, ok := value.(map[string]any)
		if before, is := defaults[name].(map[string]any); ok && is {
			override(before, members)
			continue
		}
		defaults[name] = value
	}
}

// validate checks values by the schema of the chart.
func validate(t *testing.T, values map[string]any) error {
	t.Helper()
	schema, err := jsonschema.NewCompiler().Compile(chartDirectory + "/values.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return schema.Validate(values)
}

// functions are those of Helm that are not of sprig.
func functions(set *template.Template) template.FuncMap {
	return template.FuncMap{
		"include": func(name string, data any) (string, error) {
			var out strings.Builder
			err := set.ExecuteTemplate(&out, name, data)
			return out.String(), err
		},
		"toYaml": func(value any) (string, error) {
			text, err := yaml.Marshal(value)
			return strings.TrimSuffix(string(text), "\n"), err
		},
		"required": func(message string, value any) (any, error) {
			if value == nil || value == "" {
				return nil, errors.New(message)
			}
			return value, nil
		},
	}
}

const least = "publicURL: https://punctual.example.com\n"

// The chart is deploy/kubernetes with values in place of names, so the same must hold.
func TestChart_RendersWhatTheManifestsHave(t *testing.T) {
	found, err := render(t, least)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"ConfigMap punctual", "Deployment punctual", "NetworkPolicy punctual", "PodDisruptionBudget punctual",
		"Service punctual", "Service punctual-metrics"}
	if got := slices.Sorted(maps.Keys(found)); !slices.Equal(got, want) {
		t.Fatalf("the chart has %q, want %q", got, want)
	}
	d := found["Deployment punctual"].(*apps.Deployment)
	deployment(t, d)
	for _, selector := range []map[string]string{
		found["Service punctual"].(*core.Service).Spec.Selector, found["Service punctual-metrics"].(*core.Service).Spec.Selector,
		found["PodDisruptionBudget punctual"].(*policy.PodDisruptionBudget).Spec.Selector.MatchLabels,
		found["NetworkPolicy punctual"].(*networking.NetworkPolicy).Spec.PodSelector.MatchLabels, d.Spec.Selector.MatchLabels,
		d.Spec.Template.Spec.TopologySpreadConstraints[0].LabelSelector.MatchLabels,
	} {
		if len(selector) == 0 {
			t.Error("a selector is empty")
		}
		for label, value := range selector {
			if d.Spec.Template.Labels[label] != value {
				t.Errorf("the pods have no label %s=%s", label, value)
			}
		}
	}
	settings := found["ConfigMap punctual"].(*core.ConfigMap).Data
	var manifest core.ConfigMap
	if err := yaml.UnmarshalStrict(file(t, "../../deploy/kubernetes/configuration.yaml"), &manifest); err != nil {
		t.Fatal(err)
	}
	if !maps.Equal(settings, manifest.Data) {
		t.Errorf("the settings are %v, want those of the manifests, %v", settings, manifest.Data)
	}
}

func TestChart_HasEveryOption(t *testing.T) {
	found, err := render(t, least+`
secret: {smtpURL: smtp-url}
smtpFrom: Punctual <alerts@example.com>
replicas: 1
drainSeconds: 25
image: {digest: "sha256:`+strings.Repeat("ab", 32)+`", pullSecrets: [registry]}
topologyKeys: [kubernetes.io/hostname, topology.kubernetes.io/zone]
settings: {PUNCTUAL_RETENTION: 14d, PUNCTUAL_CONCURRENCY: 500}
ingress: {enabled: true, tlsSecret: certificate, annotations: {a/b: c}}
networkPolicy: {database: {namespace: "", cidrs: [10.1.2.0/24]}, targets: {cidrs: [10.9.0.0/16]}}
nodeSelector: {disk: fast}
`)
	if err != nil {
		t.Fatal(err)
	}
	if found["PodDisruptionBudget punctual"] != nil {
		t.Error("a single node has a disruption budget, which nothing could meet")
	}
	pod := found["Deployment punctual"].(*apps.Deployment).Spec.Template.Spec
	if *pod.TerminationGracePeriodSeconds != 75 || len(pod.TopologySpreadConstraints) != 2 || pod.ImagePullSecrets[0].Name != "registry" ||
		pod.NodeSelector["disk"] != "fast" || !strings.HasSuffix(pod.Containers[0].Image, "punctual@sha256:"+strings.Repeat("ab", 32)) {
		t.Errorf("the pod is %+v", pod)
	}
	settings := found["ConfigMap punctual"].(*core.ConfigMap).Data
	if settings["PUNCTUAL_RETENTION"] != "14d" || settings["PUNCTUAL_CONCURRENCY"] != "500" || settings["PUNCTUAL_SMTP_FROM"] == "" ||
		settings["PUNCTUAL_DRAIN"] != "25s" {
		t.Errorf("the settings are %v", settings)
	}
	if env := pod.Containers[0].Env; len(env) != 2 || env[1].Name != "PUNCTUAL_SMTP_URL" ||
		env[1].ValueFrom.SecretKeyRef.Key != "smtp-url" {
		t.Errorf("the environment is %+v", env)
	}
	ingress := found["Ingress punctual"].(*networking.Ingress).Spec
	if ingress.Rules[0].Host != "punctual.example.com" || ingress.TLS[0].SecretName != "certificate" {
		t.Errorf("the ingress is %+v", ingress)
	}
	egress := found["NetworkPolicy punctual"].(*networking.NetworkPolicy).Spec.Egress
	if len(egress) != 4 || egress[1].To[0].IPBlock.CIDR != "10.1.2.0/24" || egress[2].Ports[0].Port.IntValue() != 587 ||
		egress[3].To[2].IPBlock.CIDR != "10.9.0.0/16" {
		t.Errorf("requests may go to %+v", egress)
	}
}

func TestChart_RefusesValuesThatCannotWork(t *testing.T) {
	for values, want := range map[string]string{
		"replicas: 2\n":                                          "publicURL",
		"publicURL: punctual.example.com\n":                      "publicURL",
		least + "replicas: 0\n":                                  "replicas",
		least + "replica: 2\n":                                   "replica",
		least + "settings: {retention: 14d}\n":                   "retention",
		least + "image: {digest: latest}\n":                      "digest",
		least + "secret: {smtpURL: smtp-url}\n":                  "smtpFrom",
		least + "networkPolicy: {database: {namespace: \"\"}}\n": "networkPolicy.database",
	} {
		if _, err := render(t, values); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("with %q the chart says %v, want an error about %s", values, err, want)
		}
	}
}
