# Makes the calls that the reference shows on the command line, one after the other.
# Each function has the id of its call in the API document; its body is what the
# reference shows.
set -eu

createJob() {
  punctual jobs create https://example.com/invoices --when 'in 30 minutes' --data '{"invoice": 1042}' --idempotency-key invoice-1042
}

createJobs() {
  punctual jobs create --batch jobs.json
}

listJobs() {
  punctual jobs list --state available --tag billing
}

getJob() {
  punctual jobs show key:invoice-1042
}

editJob() {
  punctual jobs edit key:invoice-1042 --set retries=5
}

runJob() {
  punctual jobs run key:invoice-1042 --wait
}

rerunJob() {
  punctual jobs rerun "$JOB" --set schedule_in=1m
}

cancelJob() {
  punctual jobs cancel key:reminder-17
}

putSchedule() {
  punctual api PUT schedules/key:nightly-report -f url=https://example.com/report -f method=post -f cron='0 2 * * *' -f timezone=Europe/Berlin
}

listSchedules() {
  punctual schedules list
}

getSchedule() {
  punctual schedules show key:nightly-report
}

editSchedule() {
  punctual schedules edit key:nightly-report --set cron='0 4 * * *'
}

runSchedule() {
  punctual schedules run key:nightly-report
}

disableSchedule() {
  punctual schedules disable key:nightly-report
}

enableSchedule() {
  punctual schedules enable key:nightly-report
}

apply() {
  punctual apply -f schedules.yaml --prune --yes
}

exportSchedules() {
  punctual export --owner my-repository --format yaml > exported.yaml
}

deleteSchedule() {
  punctual schedules delete key:nightly-report
}

startOperation() {
  punctual operations start cancel --tag billing --watch
}

listLogs() {
  punctual logs list --event worker.http.error
}

exportLogs() {
  punctual logs export --output logs.ndjson
}

putLimit() {
  punctual limits set stripe --calls 100 --per 1s --parallel 5
}

listLimits() {
  punctual limits list
}

deleteLimit() {
  punctual limits delete stripe
}

putAlert() {
  punctual alerts set billing --on failed,recovered --after 3 --tag billing --webhook https://example.com/alerts
}

testAlert() {
  punctual alerts test billing
}

deleteAlert() {
  punctual alerts delete billing
}

putHeaderSecret() {
  printenv GITHUB_TOKEN | punctual secrets set github --host api.github.com
}

deleteHeaderSecret() {
  punctual secrets delete github
}

createKey() {
  punctual api POST account/keys -f name=deploy -f scope=jobs
}

getStats() {
  punctual api GET 'stats?minutes=60'
}

cat > schedules.yaml <<'FILE'
owner: my-repository
schedules:
  - {key: cleanup, url: https://example.com/cleanup, repeat_every: [1, day]}
FILE
cat > jobs.json <<'FILE'
[{"url": "https://example.com/reminders", "schedule_in": [1, "hour"], "idempotency_key": "reminder-17"},
 {"url": "https://example.com/reminders", "schedule_in": [1, "hour"], "tags": ["billing"]}]
FILE
createJob
JOB=$(punctual jobs list --quiet | head -n 1)
for call in createJobs listJobs getJob editJob runJob rerunJob cancelJob \
  putSchedule listSchedules getSchedule editSchedule runSchedule disableSchedule enableSchedule apply exportSchedules deleteSchedule \
  startOperation listLogs exportLogs putLimit listLimits deleteLimit putAlert testAlert deleteAlert \
  putHeaderSecret deleteHeaderSecret createKey getStats; do
  "$call"
done
