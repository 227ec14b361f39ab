package settings

import (
	"fmt"
	"io"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"text/tabwriter"
)

// Show writes the effective configuration, a setting a line with where its value came from, and no secret.
func (l *Loaded[C]) Show(w io.Writer) error {
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	values := reflect.ValueOf(l.Values)
	for _, s := range l.fields {
		value := show(s.of(values))
		if strings.HasSuffix(s.key, "_url") {
			value = redacted(value)
		}
		if value == "" {
			value = "-"
		}
		fmt.Fprintf(out, "%s\t%s\t%s\n", s.key, value, l.origin[s.key])
	}
	return out.Flush()
}

// redacted shows a URL without its password and without what its query says, but for what is known to be harmless.
func redacted(text string) string {
	scheme, rest, found := strings.Cut(text, ":")
	if !found || !strings.HasPrefix(rest, "//") {
		return opaque(text, scheme)
	}
	u, err := url.Parse(text)
	if err != nil || CutShort(text) {
		return scheme + "://…"
	}
	harmless := []string{"sslmode", "application_name", "connect_timeout", "pool_max_conns", "region", "endpoint"}
	query := u.Query()
	for key := range query {
		if !slices.Contains(harmless, key) {
			query.Set(key, "xxxxx")
		}
	}
	u.RawQuery = query.Encode()
	return u.Redacted()
}

// CutShort says whether an @ stands behind the host of a URL: it is that of a password of which a sign that is not
// written as %XX ended the host before, so that a part of it stands where nobody looks for one.
func CutShort(text string) bool {
	_, rest, _ := strings.Cut(text, "://")
	host := strings.IndexAny(rest, "/?#")
	return host >= 0 && strings.Contains(rest[host:], "@")
}

// opaque shows a reference that is no URL with a host, such as that of a PKCS#11 key.
func opaque(text, scheme string) string {
	shown, _, more := strings.Cut(text, "?")
	if i := strings.LastIndexByte(shown, '@'); i >= 0 {
		shown = scheme + ":…" + shown[i:]
	}
	if more {
		shown += "?…"
	}
	return shown
}
