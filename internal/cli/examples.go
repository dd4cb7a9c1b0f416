package cli

import (
	"strings"

	"github.com/alecthomas/kong"
)

// examples are the examples in the help of each command.
var examples = map[string]string{
	"serve":                  "punctual serve --listen 0.0.0.0:8080 --public-url https://punctual.example.com",
	"dev":                    "punctual dev --keep .punctual",
	"demo":                   "punctual demo",
	"bench":                  "punctual bench --quick",
	"accounts create":        "punctual accounts create ann@example.com --json",
	"accounts list":          "punctual accounts list",
	"accounts show":          "punctual accounts show ann@example.com",
	"accounts rotate-secret": "punctual accounts rotate-secret ann@example.com",
	"accounts set-password":  "punctual accounts set-password ann@example.com",
	"accounts set-operator":  "punctual accounts set-operator ann@example.com",
	"accounts reset-totp":    "punctual accounts reset-totp ann@example.com",
	"accounts limit":         "punctual accounts limit ann@example.com --max-pending 10000 --rate-limit 50",
	"accounts suspend":       "punctual accounts suspend ann@example.com --reason 'unpaid invoice'",
	"accounts resume":        "punctual accounts resume ann@example.com",
	"accounts confirm-email": "punctual accounts confirm-email ann@example.com",
	"accounts reset-sign-in": "punctual accounts reset-sign-in ann@example.com",
	"accounts change-email":  "punctual accounts change-email ann@example.com anna@example.com",
	"accounts members":       "punctual accounts members alex@example.com",
	"accounts audit":         "punctual accounts audit ann@example.com --limit 20",
	"accounts delete":        "punctual accounts delete ann@example.com --yes",
	"invites create":         "punctual invites create",
	"keys qstash":            "punctual keys qstash ann@example.com --public-url https://punctual.example.com",
	"keys create":            "punctual keys create ann@example.com --name deploy --scope jobs",
	"keys list":              "punctual keys list ann@example.com",
	"keys revoke":            "punctual keys revoke 0198c0de-0000-7000-8000-000000000001",
	"targets block":          "punctual targets block abused.example.com --reason 'sends spam'",
	"targets unblock":        "punctual targets unblock abused.example.com",
	"targets list":           "punctual targets list",
	"mcp":                    "punctual mcp --url https://punctual.example.com",
	"outbox schema":          "punctual outbox schema | psql app",
	"outbox run":             "punctual outbox run --source postgres://punctual_relay@localhost/app --listen 127.0.0.1:9090",
	"login": `punctual login --url https://punctual.example.com
punctual login --profile staging --url https://staging.example.com < key.txt`,
	"logout":        "punctual logout --profile staging",
	"profiles list": "punctual profiles list",
	"profiles use":  "punctual profiles use staging",
	"jobs create": `punctual jobs create https://example.com/hook --when 'in 30 minutes' --data '{"id": 17}'
punctual jobs create https://example.com/hook --wait && echo done
punctual jobs create -f job.json --idempotency-key invoice-1042`,
	"jobs list": `punctual jobs list 'failed host:api.example.com since:"yesterday 22:00"'
punctual jobs list --state discarded --tag billing
punctual jobs list --state scheduled --quiet`,
	"jobs show":   "punctual jobs show 29180",
	"jobs watch":  "punctual jobs watch 29180 --wait-for 10m",
	"jobs edit":   "punctual jobs edit 29180 --set retries=5 --set schedule_in='2 hours'",
	"jobs run":    "punctual jobs run 29180 --wait",
	"jobs rerun":  "punctual jobs rerun 29180 --set url=https://example.com/other --wait",
	"jobs cancel": "punctual jobs cancel 29180 key:invoice-1042",
	"schedules create": `punctual schedules create https://example.com/report --cron '0 9 * * MON-FRI' --zone Europe/Berlin
punctual schedules create https://example.com/ping --every '5 minutes' --idempotency-key ping`,
	"schedules list": "punctual schedules list --tag billing",
	"schedules show": "punctual schedules show key:nightly-report",
	"schedules punctuality": `punctual schedules punctuality key:nightly-report --month 2026-11
punctual schedules punctuality key:nightly-report --month 2026-11 --csv > nightly-report.csv`,
	"schedules edit":    "punctual schedules edit key:nightly-report --set cron='0 4 * * *' --revision 3",
	"schedules run":     "punctual schedules run key:nightly-report --wait",
	"schedules enable":  "punctual schedules enable key:nightly-report",
	"schedules disable": "punctual schedules disable key:nightly-report",
	"schedules mute": `punctual schedules mute key:nightly-report --until recovered --note 'The provider has an outage.'
punctual schedules mute key:nightly-report --until 'tomorrow at 9:00' --zone Europe/Berlin`,
	"schedules unmute": "punctual schedules unmute key:nightly-report",
	"schedules delete": "punctual schedules delete key:nightly-report",
	"why":              "punctual why 29180\npunctual why key:nightly-report",
	"logs show":        "punctual logs show 01a05e38-6689-7c3e-9d41-0b6f2a5c8e18",
	"logs list":        "punctual logs list --job 29180\npunctual logs list --event worker.http.error --since 2026-01-31",
	"logs tail":        "punctual logs tail --event worker.http.error",
	"logs export":      "punctual logs export --since 2026-01-01 --output logs.ndjson",
	"runs list":        "punctual runs list --state failed",
	"runs show":        "punctual runs show wfr_7zq4k2m5n6p3r8s9t2v4w6x8",
	"runs cancel":      "punctual runs cancel wfr_7zq4k2m5n6p3r8s9t2v4w6x8",
	"members list":     "punctual members list",
	"members invite":   "punctual members invite bob@example.com --role editor",
	"members role":     "punctual members role 01a05e38-6689-7c3e-9d41-0b6f2a5c8e18 admin",
	"members remove":   "punctual members remove 01a05e38-6689-7c3e-9d41-0b6f2a5c8e18",
	"groups list":      "punctual groups list",
	"groups show":      "punctual groups show mirrors",
	"groups set":       "punctual groups set mirrors eu=https://eu.example.com/hook us=https://us.example.com/hook",
	"groups delete":    "punctual groups delete mirrors",
	"limits list":      "punctual limits list",
	"limits show":      "punctual limits show stripe",
	"limits set":       "punctual limits set stripe --calls 100 --per 1s --parallel 5",
	"limits delete":    "punctual limits delete stripe",
	"limits pause":     "punctual limits pause stripe",
	"limits resume":    "punctual limits resume stripe",
	"alerts list":      "punctual alerts list",
	"alerts show":      "punctual alerts show billing",
	"alerts set": `punctual alerts set billing --on failed,recovered --after 3 --tag billing --email ops@example.com
punctual alerts set late --on late --late-by '5 minutes' --slack https://hooks.slack.com/services/T0/B0/X`,
	"alerts test":   "punctual alerts test billing",
	"alerts delete": "punctual alerts delete billing",
	"secrets list":  "punctual secrets list",
	"secrets set": `punctual secrets set github --host api.github.com
punctual secrets set github < token.txt`,
	"secrets delete":     "punctual secrets delete github",
	"issuer rotate":      "punctual issuer rotate --secrets-key-file secrets.key",
	"secrets new-key":    "punctual secrets new-key > secrets.key",
	"secrets rotate-key": "punctual secrets rotate-key --secrets-key-file secrets.key",
	"operations start":   "punctual operations start rerun --state discarded --since 2026-01-31 --spread 10m --watch",
	"operations list":    "punctual operations list",
	"operations show":    "punctual operations show 0198c0de-0000-7000-8000-000000000001",
	"operations stop":    "punctual operations stop 0198c0de-0000-7000-8000-000000000001",
	"apply":              "punctual apply -f schedules/ --prune",
	"rehearse": `punctual rehearse -f schedules/ --from 2027-03-27 --to 2027-03-29
punctual rehearse --outage 2027-01-01T02:00:00Z/4h --duration nightly-report:25m`,
	"lint":              "punctual lint schedules/ --ignore either_day",
	"export":            "punctual export --owner my-repository --format yaml > schedules.yaml",
	"import crontab":    "crontab -l | punctual import crontab - --zone Europe/Berlin --dry-run",
	"import kubernetes": "kubectl get cronjobs -o yaml | punctual import kubernetes - --zone UTC --dry-run",
	"import vercel":     "punctual import vercel vercel.json --base-url https://app.example.com",
	"import github":     "punctual import github .github/workflows/nightly.yml --workflow acme/app/nightly.yml",
	"import google":     "gcloud scheduler jobs list --format=json | punctual import google -",
	"import aws":        "aws scheduler get-schedule --name nightly | punctual import aws - --target arn:aws:lambda:eu-west-1:1:function:f=https://example.com/f",
	"import qstash":     "punctual import qstash --dry-run",
	"import systemd":    "systemctl cat nightly.timer nightly.service | punctual import systemd -",
	"api": `punctual api GET account
punctual api POST /api/jobs -f url=https://example.com/hook -f schedule_in=30
punctual api PUT limits/stripe --input limit.json`,
	"next": `punctual next '*/15 9-17 * * MON-FRI' --zone Europe/Berlin
punctual next every last friday of the month at 9:00 -n 12`,
	"verify": `punctual verify body.json -H 'webhook-id: msg_1' -H 'webhook-timestamp: 1769850000' -H 'webhook-signature: v1,…'
punctual verify --request request.txt --secret-file secret.txt`,
	"listen": `punctual listen --forward-to http://localhost:3000
punctual listen --name ann --tag env:ann`,
	"migrate": "punctual migrate --database-url postgres://punctual@db.example.com/punctual",
	"backup":  "punctual backup punctual.backup",
	"restore": "punctual restore punctual.backup --database-url sqlite:new.db",
	"copy":    "punctual copy --from sqlite:punctual.db --to postgres://punctual@db.example.com/punctual",
	"health":  "punctual health --live",
	"completion": `source <(punctual completion bash)
punctual completion zsh > ~/.zsh/completions/_punctual
punctual completion fish > ~/.config/fish/completions/punctual.fish`,
	"version": "punctual version --json",
}

// addExamples appends the examples to the help of each command.
func addExamples(root *kong.Node) {
	for _, command := range root.Leaves(true) {
		text, ok := examples[command.Path()]
		if !ok {
			continue
		}
		command.Detail = strings.TrimSpace(command.Detail + "\n\nExamples:\n\n    " + strings.ReplaceAll(text, "\n", "\n    "))
	}
}
