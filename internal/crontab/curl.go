package crontab

// curl is the command line of curl 8. Options that are neither ignored nor
// applied are unknown, so their lines aren't converted.
var curl = tool{name: "curl", options: curlOptions(), short: map[byte]string{
	'A': "user-agent", 'b': "cookie", 'd': "data", 'D': "dump-header", 'e': "referer", 'f': "fail", 'G': "get", 'H': "header",
	'I': "head", 'i': "include", 'L': "location", 'm': "max-time", 'N': "no-buffer", 'o': "output", 'O': "remote-name",
	'S': "show-error", 's': "silent", 'u': "user", 'v': "verbose", 'w': "write-out", 'X': "request", '#': "progress-bar",
	'4': "ipv4", '6': "ipv6", 'q': "disable", 'g': "globoff",
}}

func curlOptions() map[string]option {
	options := map[string]option{
		"url":            value(setURL),
		"request":        value(setMethod),
		"header":         value(setHeader),
		"user-agent":     setNamed("user-agent"),
		"referer":        setNamed("referer"),
		"cookie":         value(addCookie),
		"user":           value(setUser),
		"oauth2-bearer":  value(func(r *request, v string) error { r.header("authorization", "Bearer "+v); return nil }),
		"data":           value(addBody),
		"data-ascii":     value(addBody),
		"data-binary":    value(addBody),
		"data-raw":       value(addRaw),
		"data-urlencode": value(addEncoded),
		"json":           value(addJSON),
		"get":            flag(func(r *request) { r.toQuery = true }),
		"head":           flag(func(r *request) { r.method = "HEAD" }),
		"max-time":       value(setTimeout),
		"retry":          setRetries(0),
	}
	for _, name := range []string{
		"fail", "fail-with-body", "fail-early", "silent", "show-error", "location", "include", "verbose", "progress-bar",
		"no-progress-meter", "no-buffer", "remote-name", "compressed", "ipv4", "ipv6", "disable", "globoff",
		"retry-connrefused", "retry-all-errors", "tlsv1.2", "tlsv1.3", "http1.1", "http2", "tcp-nodelay", "no-keepalive", "styled-output",
	} {
		options[name] = ignored(false)
	}
	for _, name := range []string{
		"output", "write-out", "dump-header", "connect-timeout", "retry-delay", "retry-max-time", "max-redirs", "stderr",
		"speed-limit", "speed-time", "keepalive-time", "trace", "trace-ascii",
	} {
		options[name] = ignored(true)
	}
	return options
}

func addJSON(r *request, v string) error {
	for _, name := range []string{"content-type", "accept"} {
		if !r.has(name) {
			r.header(name, "application/json")
		}
	}
	return addBody(r, v)
}
