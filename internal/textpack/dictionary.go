package textpack

// dictionary1 has what texts have in common, the most frequent last: s2 finds the last
// place of eight equal bytes, and writes references to the last 2,048 bytes before a
// place in less. It must not change.
const dictionary1 = `","metadata":{"","throttle":{"key":"","completion":{"mode":"","success":{"status":["backoff":{"base":"factor":"max":` +
	`"catch_up":"all","expires_in":["ends_at":"max_runs":"jitter":["max_wait":["except":["no_retry":["conflict":"replace"` +
	`,"webhook_url":"https://,"callback_url":"https://","timezone":"America/New_York","timezone":"Europe/Berlin","timezone":"UTC","cron":"0 0 * * *","` +
	`"X-Powered-By":"Express","X-Xss-Protection":"0","X-Frame-Options":"SAMEORIGIN","X-Frame-Options":"DENY","Content-Security-Policy":"default-src 'self'"` +
	`,"Referrer-Policy":"strict-origin-when-cross-origin","Access-Control-Allow-Origin":"*","Alt-Svc":"h3=\":443\"; ma=86400",` +
	`"Cf-Cache-Status":"DYNAMIC","Cf-Ray":"","X-Amzn-Requestid":"","X-Amz-Cf-Id":"","Set-Cookie":"","Location":"https://",` +
	`"Transfer-Encoding":"chunked","Keep-Alive":"timeout=5, max=100","Last-Modified":"","Etag":"W/\"","X-Runtime":"0.0` +
	`,"X-Trace-Id":"","Via":"1.1 ","Vary":"Origin, Accept-Encoding","X-Content-Type-Options":"nosniff","Strict-Transport-Security":"max-age=31536000; includeSubDomains; preload","X-Request-Id":"` +
	`,"headers":{"Cache-Control":"no-cache, no-store, must-revalidate, max-age=0, private",` +
	`,"headers":{"Connection":"keep-alive","Content-Length":"1","Connection":"close","Content-Type":"text/html; charset=utf-8","Content-Type":"text/plain; charset=utf-8","Date":"` +
	` GMT","Server":"cloudflare GMT","Server":"nginx/1.2` +
	`{"error":{"kind":"connect","message":"the target refused the connection"},"duration_ms":"kind":"interrupted"` +
	`{"error":{"kind":"dns","message":"{"error":{"kind":"tls","message":"{"error":{"kind":"timeout","message":"the target did not respond within ` +
	`{"error":"not found","code":"internal server error","message":"{"status":404,"headers":{"{"status":500,"headers":{"{"status":502,"headers":{"{"status":503,"headers":{"{"status":429,"headers":{"{"status":201,"headers":{"{"status":202,"headers":{"{"status":204,"headers":{"` +
	`,"error":{"kind":"status","message":"the target responded with status "},"duration_ms":"result":{` +
	`","headers":{"Authorization":"*****","Content-Type":"headers":{"Authorization":"Bearer ","User-Agent":"","Accept":"application/json","X-Api-Key":"","Content-Type":"application/x-www-form-urlencoded",` +
	`,"description":"","key":"","timeout":30,"retries":3,"retries":5,"tags":["","name":"","schedule_in":[1,"seconds"],"repeat_every":[1,"minutes"],"repeat_every":[1,"hours"],"repeat_every":[1,"days"],` +
	`"id":"","type":"","user_id":"","email":"@example.com","created_at":"2026-","updated_at":"2027-","data":{"","event":"","value":"","url":"","amount":"` +
	`true,"false,"null,"title":"","text":"","content":"","version":"1.0","source":"","action":"","user":{"id":,"items":[{"","total":,"count":0,"status":"` +
	`,"truncated":false,"attempt":1,"retry_at":"2026-,"attempt":2,"retry_at":"2027-,"attempt":3,"retry_at":null}` +
	`{"url":"https://{"method":"get","url":"http://localhost:{"method":"post","url":"https://hooks.example.com/api/v1/webhook","body":null,"body":"","body":[{"body":{"id":` +
	`},"headers":{"Content-Type":"application/json"}}"},"scheduled_at":"2027-"},"headers":{"","scheduled_at":"2026-00:00Z","body":{"00.000000Z","headers":{}}` +
	`{"body":null,"headers":{"Content-Type":"application/json"},"query":{},"url":"https://` +
	`","$job":{"id":1},"$previous":{"status":200},"$state":{}},"headers":{"1},"$previous":{},"$state":{}},"headers":{},"query":{},"url":"https://127.0.0.1:` +
	`{"status":200,"headers":{"Content-Length":"2","Content-Type":"application/json; charset=utf-8","Date":"Mon, "Date":"Tue, "Date":"Wed, "Date":"Thu, "Date":"Fri, "Date":"Sat, "Content-Type":"application/json","Date":"Sun, ` +
	` Jan 202 Feb 202 Mar 202 Apr 202 May 202 Jun 202 Jul 202 Aug 202 Sep 202 Oct 202 Nov 202 Dec 202` +
	` GMT"},"body":"ok GMT"},"body":{"ok":true},"duration_ms":1.,"truncated":false}"},"duration_ms":2`

// start1 is how most texts begin that are packed: requests. It is a part of the
// dictionary, and must not change either.
const start1 = `{"body":{`
