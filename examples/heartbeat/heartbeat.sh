#!/bin/sh
# Tells punctual that something is alive. If that stops for WITHIN seconds, punctual
# calls ALARM_URL. Run it at the end of a backup, in a loop, or from cron.
#
# usage: heartbeat.sh NAME
set -eu
: "${PUNCTUAL_API_KEY:?}" "${ALARM_URL:?the URL to call when the heartbeats stop}"
curl --fail --silent --show-error --retry 3 "${PUNCTUAL_URL:-http://127.0.0.1:8080}/api/jobs" \
	-H "Authorization: Bearer $PUNCTUAL_API_KEY" -H 'Content-Type: application/json' \
	-o /dev/null -d "{\"url\": \"$ALARM_URL\", \"method\": \"post\", \"body\": {\"silent\": \"$1\"},
		\"name\": \"Heartbeat of $1\", \"schedule_in\": ${WITHIN:-600},
		\"idempotency_key\": \"heartbeat-$1\", \"on_conflict\": \"replace\"}"
