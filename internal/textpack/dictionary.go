package textpack

// dictionary1 has what texts have in common, the most frequent last: references to
// the last 2,048 bytes before a place are shorter than others. It must not change.
const dictionary1 = `","metadata":{"","throttle":{"key":"","completion":{"mode":"","success":{"status":["backoff":{"base":"factor":"max":` +
	`"catch_up":"all","expires_in":["ends_at":"max_runs":"jitter":["max_wait":["except":["no_retry":["conflict":"replace"` +
	`,"webhook_url":"https://,"callback_url":"https://,"timezone":"America/New_York"Europe/Berlin"UTC"","cron":"0 0 * * *","` +
	`"X-Powered-By":"Express","X-Xss-Protection":"0","X-Frame-Options":"SAMEORIGIN","DENY","Content-Security-Policy":"default-src 'self'"` +
	`,"Referrer-Policy":"strict-origin-when-cross-origin","Access-Control-Allow-Origin":"*","Alt-Svc":"h3=\":443\"; ma=86400",` +
	`"Cf-Cache-Status":"DYNAMIC","Cf-Ray":"","X-Amzn-Requestid":"","X-Amz-Cf-Id":"","Set-Cookie":"","Location":"https://",` +
	`"Transfer-Encoding":"chunked","Keep-Alive":"timeout=5, max=100","Last-Modified":"","Etag":"W/\"","X-Runtime":"0.0` +
	`,"X-Request-Id":"","X-Trace-Id":"","Via":"1.1 ","Strict-Transport-Security":"max-age=31536000; includeSubDomains; preload",` +
	`"X-Content-Type-Options":"nosniff","Vary":"Origin, Accept-Encoding","Cache-Control":"no-cache, no-store, must-revalidate, max-age=0, private",` +
	`"Connection":"keep-alive","close","Server":"nginx/1.cloudflare","text/html; charset=utf-8","text/plain; charset=utf-8",` +
	`{"kind":"connect","dns","tls","timeout","interrupted","message":"the target did not respond within refused the connection` +
	`{"error":"not found","code":"internal server error","status":404,500,502,503,429,201,202,204,` +
	`,"error":{"kind":"status","message":"the target responded with status "},"duration_ms":"result":{` +
	`","headers":{"Authorization":"Bearer "*****","User-Agent":"","Accept":"application/json","X-Api-Key":"Content-Type":"application/x-www-form-urlencoded",` +
	`,"name":"","description":"","tags":[""],"key":"","timeout":30,"retries":3,"schedule_in":[1,"seconds"],"minutes"],"hours"],"days"],"repeat_every":[` +
	`"id":"","type":"","user_id":"","email":"@example.com","created_at":"2026-","updated_at":"2027-","data":{"","event":"","value":"","url":"","amount":"` +
	`true,"false,"null,"title":"","text":"","content":"","version":"1.0","source":"","action":"","user":{"id":,"items":[{"","total":,"count":0,"ok":true}` +
	`,"attempt":1,"retry_at":"2026-","attempt":2,"retry_at":null}` +
	`{"method":"get","url":"http://localhost:{"method":"post","url":"https://hooks.example.com/api/v1/webhook","scheduled_at":"2026-T00:00:00.000000Z","body":null,"body":"","body":[{"body":{"` +
	`},"headers":{},"query":{}},"headers":{"Content-Type":"application/json"}}` +
	` Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec 2026 2027 2028 ` +
	`","$job":{"id":1},"$previous":{},"$state":{}},"headers":{},"query":{},"url":"https://127.0.0.1:` +
	`{"status":200,"headers":{"Content-Length":"","Content-Type":"application/json; charset=utf-8","Date":"Sun, Mon, Tue, Wed, Thu, Fri, Sat,  GMT"},"body":{"` +
	`"},"duration_ms":1.,"truncated":false}`
