package deploy

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/punctual-dev/punctual/test/e2e/harness"
)

// Every setting that a configuration names is one of serve, and a number of them are
// read by the program itself.
func TestSettings_ExistAndAreAccepted(t *testing.T) {
	t.Parallel()
	help := harness.Command(t, nil, "serve", "--help").Stdout
	setting := regexp.MustCompile(`PUNCTUAL_[A-Z_]+`)
	own := []string{"PUNCTUAL_HOST", "PUNCTUAL_NODES", "PUNCTUAL_IMAGE"} // of compose and Caddy
	files := []string{
		"systemd/punctual.service", "debian/punctual.env", "container/Dockerfile", "compose/compose.yaml", "caddy/Caddyfile",
		"kubernetes/configuration.yaml", "kubernetes/deployment.yaml", "fly/fly.toml", "render/render.yaml",
		"helm/punctual/values.yaml", "helm/punctual/templates/configuration.yaml", "helm/punctual/templates/deployment.yaml",
	}
	for _, file := range files {
		for _, name := range setting.FindAllString(read(t, file), -1) {
			if !slices.Contains(own, name) && !strings.Contains(help, "[$"+name+"]") {
				t.Errorf("%s names %s, which serve does not read", file, name)
			}
		}
	}
}

// /metrics needs no key, so each configuration whose listener strangers can reach
// serves it elsewhere.
func TestMetrics_AreNotPublic(t *testing.T) {
	t.Parallel()
	for _, file := range []string{"compose/compose.yaml", "kubernetes/configuration.yaml", "helm/punctual/templates/configuration.yaml",
		"fly/fly.toml", "render/render.yaml"} {
		if !strings.Contains(read(t, file), "PUNCTUAL_METRICS_LISTEN") {
			t.Errorf("%s leaves /metrics on the public listener", file)
		}
	}
	port := regexp.MustCompile(`key: PUNCTUAL_METRICS_LISTEN\n +value: 0\.0\.0\.0:9090\n`)
	if text := read(t, "render/render.yaml"); !port.MatchString(text) || !strings.Contains(text, "key: PORT\n        value: \"10000\"\n") {
		t.Error("render.yaml doesn't name a public port other than that of the metrics")
	}
}

// The key file that the compose file names is made as it says.
func TestCompose_EncryptsSecrets(t *testing.T) {
	t.Parallel()
	text := read(t, "compose/compose.yaml")
	for _, want := range []string{
		"PUNCTUAL_SECRETS_KEY_FILE: /run/secrets/secrets-key\n", "secrets: [pgpass, secrets-key]\n", "secrets new-key > secrets-key\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("compose.yaml has no %q", want)
		}
	}
	for _, file := range regexp.MustCompile(`file: \./(\S+)`).FindAllStringSubmatch(text, -1) {
		if !strings.Contains(read(t, "compose/.gitignore"), "/"+file[1]+"\n") {
			t.Errorf("git would keep the secret file %s", file[1])
		}
	}
	key := filepath.Join(t.TempDir(), "secrets-key")
	if err := os.WriteFile(key, []byte(harness.Command(t, nil, "secrets", "new-key").Stdout), 0o644); err != nil {
		t.Fatal(err)
	}
	awaitReady(t, harness.Start(t, harness.Flag("secrets-key-file", key)))
}

func TestDockerfile_NeedsNoRights(t *testing.T) {
	t.Parallel()
	text := read(t, "container/Dockerfile")
	for _, want := range []string{
		"\nUSER 65532:65532\n", `CMD ["/usr/bin/punctual", "health"]`, "\nENTRYPOINT [\"/usr/bin/punctual\"]\n", "\nSTOPSIGNAL SIGTERM\n",
		"PUNCTUAL_DATABASE_URL=sqlite:/data/punctual.db", "\nVOLUME /data\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the file has no %q", want)
		}
	}
	if strings.Contains(text, "\nRUN ") {
		t.Error("it runs something: the image would not be the same each time")
	}
}

// decode reads documents strictly: a field that into does not know is a mistake.
func decode[T any](t *testing.T, name string) []T {
	t.Helper()
	decoder := yaml.NewDecoder(bytes.NewReader([]byte(read(t, name))))
	decoder.KnownFields(true)
	var all []T
	for {
		var one T
		switch err := decoder.Decode(&one); err {
		case nil:
			all = append(all, one)
		case io.EOF:
			return all
		default:
			t.Fatalf("%s: %v", name, err)
		}
	}
}

type composeService struct {
	Image           string
	Environment     map[string]string
	Secrets         []string
	Networks        []string
	DependsOn       any `yaml:"depends_on"`
	Restart         string
	StopGracePeriod string   `yaml:"stop_grace_period"`
	ReadOnly        bool     `yaml:"read_only"`
	CapDrop         []string `yaml:"cap_drop"`
	CapAdd          []string `yaml:"cap_add"`
	SecurityOpt     []string `yaml:"security_opt"`
	MemLimit        string   `yaml:"mem_limit"`
	ShmSize         string   `yaml:"shm_size"`
	Logging         any
	Volumes, Ports  []string
	Healthcheck     any
	Init            bool
	Entrypoint      []string
	Command         []string
}

func TestCompose_RunsTwoNodesBehindAProxy(t *testing.T) {
	t.Parallel()
	type compose struct {
		Name     string
		Node     composeService `yaml:"x-node"`
		Services map[string]composeService
		Networks map[string]struct {
			Internal bool
			IPAM     any `yaml:"ipam"`
		}
		Volumes map[string]any
		Secrets map[string]struct{ File string }
	}
	all := decode[compose](t, "compose/compose.yaml")
	if len(all) != 1 {
		t.Fatalf("%d documents", len(all))
	}
	c := all[0]
	for _, name := range []string{"node1", "node2"} {
		n := c.Services[name]
		if !n.ReadOnly || !slices.Equal(n.CapDrop, []string{"ALL"}) || len(n.Ports) > 0 || n.StopGracePeriod != "60s" {
			t.Errorf("%s has more rights than it needs: %+v", name, n)
		}
		if got := n.Environment["PUNCTUAL_DATABASE_URL"]; !strings.HasPrefix(got, "postgres://punctual@database:5432/punctual?") {
			t.Errorf("%s has the database %q", name, got)
		}
		if !strings.Contains(c.Services["proxy"].Environment["PUNCTUAL_NODES"], name+":8080") {
			t.Errorf("the proxy does not know %s", name)
		}
	}
	if mounts := c.Services["proxy"].Volumes; !slices.Contains(mounts, "../caddy/Caddyfile:/etc/caddy/Caddyfile:ro") {
		t.Errorf("the proxy reads another configuration: %v", mounts)
	}
	if !strings.Contains(read(t, "caddy/Caddyfile"), "health_uri /readyz\n") {
		t.Error("the proxy does not ask /readyz")
	}
	if ports := c.Services["database"].Ports; len(ports) > 0 || !c.Networks["inside"].Internal {
		t.Error("the database can be reached from outside")
	}
	backup := c.Services["backup"]
	if !slices.Contains(backup.Volumes, "backups:/backups") || !strings.Contains(strings.Join(backup.Command, ""), "pg_dump") {
		t.Errorf("no backups are made: %+v", backup)
	}
	for _, command := range backup.Command {
		if out, err := exec.Command("sh", "-n", "-c", strings.ReplaceAll(command, "$$", "$")).CombinedOutput(); err != nil {
			t.Errorf("the backup's command is no shell: %v\n%s", err, out)
		}
	}
	for name, s := range c.Services {
		if s.Image == "" || s.Restart != "unless-stopped" || s.MemLimit == "" {
			t.Errorf("%s: %+v", name, s)
		}
		for _, secret := range s.Secrets {
			if c.Secrets[secret].File == "" {
				t.Errorf("%s needs the secret %s, which has no file", name, secret)
			}
		}
	}
}

func TestKubernetes_FilesAreAllListed(t *testing.T) {
	t.Parallel()
	list := decode[struct {
		APIVersion string `yaml:"apiVersion"`
		Kind       string
		Namespace  string
		Resources  []string
	}](t, "kubernetes/kustomization.yaml")[0]
	found, err := filepath.Glob(filepath.Join(directory, "kubernetes", "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var files []string
	for _, path := range found {
		if name := filepath.Base(path); name != "kustomization.yaml" {
			files = append(files, name)
		}
	}
	slices.Sort(list.Resources)
	if !slices.Equal(list.Resources, files) || list.Namespace != "punctual" {
		t.Errorf("kustomization.yaml lists %v, there are %v", list.Resources, files)
	}
}
