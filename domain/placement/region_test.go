package placement

import (
	"net/netip"
	"net/url"
	"strings"
	"testing"

	"berth/domain/fault"
)

func goodOrigins() []string {
	return []string{
		"https://eu.example", "https://eu.example:8443", "https://localhost:1", "https://127.0.0.1:65535", "https://[::1]:443",
		"https://[2001:db8::1]", "https://xn--bcher-kva.example", "https://a-b.c1.example", "https://" + strings.Repeat("a", 63) + ".example",
	}
}

func badOrigins() []string {
	return []string{
		"", "eu.example", "https://", "https:", "https:eu.example", "https:/eu.example", "//eu.example", "http://eu.example",
		"wss://eu.example", "HTTPS://eu.example", "https://EU.example", "https://eu.example/", "https://eu.example/x",
		"https://eu.example?", "https://eu.example?a=b", "https://eu.example#", "https://eu.example#a", "https://a@eu.example",
		"https://a:b@eu.example", "https://@eu.example", "https://eu.example:", "https://eu.example:0", "https://eu.example:65536",
		"https://eu.example:080", "https://eu.example:-1", "https://eu.example:+1", "https://eu.example:http", "https://:443",
		"https://eu..example", "https://.example", "https://eu.example.", "https://-eu.example", "https://eu-.example",
		"https://eu_1.example", "https://*.example", "https://b\u00fccher.example", "https://b%C3%BCcher.example", "https://eu.example%00",
		"https://eu.example\x00", "https://eu.example\n", " https://eu.example", "https://eu .example", "https://eu.example\\x",
		"https://::1", "https://[::1", "https://::1]", "https://[127.0.0.1]", "https://[eu.example]", "https://[::1%25eth0]",
		"https://[0:0:0:0:0:0:0:1]", "https://[::FFFF:1.2.3.4]", "https://1.2.3", "https://127.1", "https://0x7f.1", "https://1",
		"https://eu.0x7f", "https://256.1.1.1", "https://01.2.3.4", "https://eu.example:443:443", "https://eu.example,us.example",
		"https://" + strings.Repeat("a", 64) + ".example", "https://" + strings.Repeat("a.", 124) + "example", "javascript:alert(1)",
		"https://eu.example\u2028", "https://eu\u00ad.example", "https://eu\uff0eexample",
	}
}

// An origin is what every device reads alike, and nothing else.
func TestRegionTakesOnlyPlainOrigins(t *testing.T) {
	t.Parallel()
	for _, origin := range goodOrigins() {
		if r, err := NewRegion("eu", origin, at(1)); err != nil || r.Origin != origin || r.ID != "eu" {
			t.Errorf("%q: got %+v, %v", origin, r, err)
		}
	}
	for _, origin := range badOrigins() {
		r, err := NewRegion("eu", origin, at(1))
		if e, ok := fault.As(err); !ok || e.Kind != fault.Invalid || e.Slug != "invalid_origin" || e.Field != "origin" || r != (Region{}) {
			t.Errorf("%q: got %+v, %v", origin, r, err)
		}
	}
}

// Both fields that are wrong are named at once.
func TestRegionNamesEveryWrongField(t *testing.T) {
	t.Parallel()
	_, err := NewRegion("EU", "http://eu.example", at(1))
	if e, _ := fault.As(err); e == nil || len(e.Errors) != 2 || e.Errors[0].Field != "id" || e.Errors[1].Field != "origin" {
		t.Fatalf("got %+v", err)
	}
}

// Whatever is accepted is ASCII in lower case, means the same to a URL parser and back, and has nothing behind the port.
func FuzzOrigin(f *testing.F) {
	for _, origin := range append(goodOrigins(), badOrigins()...) {
		f.Add(origin)
	}
	f.Fuzz(func(t *testing.T, origin string) {
		if _, err := NewRegion("eu", origin, at(1)); err != nil {
			return
		}
		host, ok := strings.CutPrefix(origin, "https://")
		if !ok || len(origin) > 255 || strings.ContainsAny(host, "/\\?#@%_ ,*") || strings.ToLower(origin) != origin {
			t.Fatalf("accepted %q", origin)
		}
		for _, c := range []byte(origin) {
			if c <= ' ' || c >= 0x7f {
				t.Fatalf("accepted %q", origin)
			}
		}
		u, err := url.Parse(origin)
		if err != nil || u.String() != origin || u.Host != host || u.Hostname() == "" {
			t.Fatalf("accepted %q, which reads as %v, %v", origin, u, err)
		}
		if ip, err := netip.ParseAddr(u.Hostname()); err == nil && ip.String() != u.Hostname() {
			t.Fatalf("accepted %q, another spelling of %s", origin, ip)
		}
	})
}
