package crontab

// wget is the command line of GNU Wget 1.
var wget = tool{name: "wget", options: wgetOptions(), short: map[byte]string{
	'O': "output-document", 'o': "output-file", 'a': "append-output", 'q': "quiet", 'v': "verbose", 'T': "timeout", 't': "tries",
	'U': "user-agent", '4': "inet4-only", '6': "inet6-only", 'S': "server-response", 'b': "background", 'n': "n",
}}

func wgetOptions() map[string]option {
	options := map[string]option{
		"header":     value(setHeader),
		"user-agent": setNamed("user-agent"),
		"referer":    setNamed("referer"),
		"method":     value(setMethod),
		"post-data":  value(func(r *request, v string) error { r.method = "POST"; return addRaw(r, v) }),
		"body-data":  value(addRaw),
		"spider":     flag(func(r *request) { r.method = "HEAD" }),
		"timeout":    value(setTimeout),
		"tries":      setRetries(1),
	}
	for _, name := range []string{
		"quiet", "verbose", "no-verbose", "inet4-only", "inet6-only", "server-response", "background", "no-cache",
		"content-on-error", "no-hsts", "no-cookies", "delete-after", "https-only",
	} {
		options[name] = ignored(false)
	}
	for _, name := range []string{"n" /* -nv, -nc and so on */, "output-document", "output-file", "append-output", "connect-timeout",
		"read-timeout", "dns-timeout", "wait", "waitretry", "max-redirect", "secure-protocol"} {
		options[name] = ignored(true)
	}
	return options
}
