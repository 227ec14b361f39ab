package identity_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"berth/domain/fault"
	"berth/domain/identity"
)

const fields = `{"v":1,"sid":"s1","spiffe":"spiffe://berth.example/relay/eu/n1",` +
	`"fp":"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855","m":"GET","t":"/a?b=c&d=e","h":"control.example",` +
	`"b":"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855","iat":1800000000,"exp":1800000010,` +
	`"n":"MDEyMzQ1Njc4OWFiY2RlZg"}`

func arrivedFields() identity.Arrived {
	return identity.Arrived{Method: "GET", Target: "/a?b=c&d=e", Host: "control.example", BodySHA256: sha256.Sum256(nil)}
}

// forge makes a header value around any payload with the real secret, as a faulty ingress might.
func forge(payload string) string {
	text := base64.RawURLEncoding.EncodeToString([]byte(payload))
	mac := hmac.New(sha256.New, secretOf("s1").Key)
	mac.Write([]byte(text))
	return "v1." + text + "." + base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

func openForged(t tester, payload string) error {
	t.Helper()
	_, err := identity.OpenAssertion([]string{forge(payload)}, secretsOf(t, nil, "s1"), arrivedFields(), start(), skew)
	return err
}

// The form is fixed to the byte: a second implementation that follows DESIGN §14 is understood.
func TestPayloadForm(t *testing.T) {
	t.Parallel()
	must(t, openForged(t, fields))
	p := payloadFor(t)
	p.Fingerprint, p.Method, p.Target, p.Host = identity.FingerprintOf(nil), "GET", "/a?b=c&d=e", "control.example"
	p.BodySHA256 = sha256.Sum256(nil)
	if got := sealed(t, "s1", p); got != forge(fields) {
		t.Errorf("sealed %s\nwant   %s", got, forge(fields))
	}
}

// A payload in any other spelling is refused, even under the right secret.
func TestPayloadIsStrict(t *testing.T) {
	t.Parallel()
	swap := func(old, by string) string {
		if !strings.Contains(fields, old) {
			t.Fatalf("%q is not in the payload", old)
		}
		return strings.Replace(fields, old, by, 1)
	}
	digest := "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	for name, payload := range map[string]string{
		"empty": "", "no object": "1", "null": "null", "array": "[" + fields + "]", "empty object": "{}",
		"unknown name":     swap(`{"v"`, `{"x":1,"v"`),
		"unknown at end":   strings.TrimSuffix(fields, "}") + `,"x":1}`,
		"doubled name":     swap(`{"v":1`, `{"v":1,"v":1`),
		"doubled, other":   swap(`"m":"GET"`, `"m":"POST","m":"GET"`),
		"wrong case":       swap(`"sid"`, `"SID"`),
		"case and double":  swap(`"m":"GET"`, `"M":"POST","m":"GET"`),
		"missing name":     swap(`"m":"GET",`, ``),
		"order":            swap(`"v":1,"sid":"s1"`, `"sid":"s1","v":1`),
		"white space":      swap(`{"v"`, `{ "v"`),
		"line break":       fields + "\n",
		"trailing data":    fields + "{}",
		"trailing bracket": fields + "}",
		"leading mark":     "\ufeff" + fields,
		"escaped letter":   swap(`"GET"`, `"\u0047ET"`),
		"escaped sign":     swap(`c&d`, `c\u0026d`),
		"escaped slash":    swap(`"/a?`, `"\/a?`),
		"bad UTF-8":        swap(`control.example`, "control\xff.example"),
		"float":            swap(`1800000000`, `1800000000.0`),
		"exponent":         swap(`"v":1`, `"v":1e0`),
		"number as text":   swap(`1800000000`, `"1800000000"`),
		"null field":       swap(`"GET"`, `null`),
		"version":          swap(`"v":1`, `"v":2`),
		"no version":       swap(`"v":1`, `"v":0`),
		"past 2^53":        swap(`1800000010`, `9007199254740992`),
		"past 2^63":        swap(`1800000010`, `9223372036854775808`),
		"zero issue":       swap(`1800000000`, `0`),
		"negative issue":   swap(`1800000000`, `-9223372036854775808`),
		"upper fp":         swap(`"fp":"`+digest, `"fp":"`+strings.ToUpper(digest)),
		"short fp":         swap(`"fp":"e3`, `"fp":"`),
		"upper b":          swap(`"b":"`+digest, `"b":"`+strings.ToUpper(digest)),
		"short nonce":      swap(`MDEyMzQ1Njc4OWFiY2RlZg`, `MDEyMzQ1Njc4OWFiY2Rl`),
		"long nonce":       swap(`MDEyMzQ1Njc4OWFiY2RlZg`, strings.Repeat("A", 88)),
		"padded nonce":     swap(`RlZg"`, `RlZg=="`),
		"loose nonce":      swap(`MDEyMzQ1Njc4OWFiY2RlZg`, `MDEyMzQ1Njc4OWFiY2RlZh`),
		"broken nonce":     swap(`MDEyMzQ1Njc4OWFiY2RlZg`, `MDEyMzQ1\nNjc4OWFiY2RlZg`),
	} {
		if err := openForged(t, payload); fault.SlugOf(err) != "assertion_malformed" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A value longer than MaxAssertion is refused before it is decoded, sound as it may be.
func TestAssertionIsBounded(t *testing.T) {
	t.Parallel()
	for length, fits := range map[int]bool{5600: true, 6000: false} {
		arrived := arrivedFields()
		arrived.Host = strings.Repeat("h", length)
		value := forge(strings.Replace(fields, "control.example", arrived.Host, 1))
		_, err := identity.OpenAssertion([]string{value}, secretsOf(t, nil, "s1"), arrived, start(), skew)
		if fits != (len(value) <= identity.MaxAssertion) || fits != (err == nil) {
			t.Errorf("%d bytes: %v", len(value), err)
		}
	}
}

// What only a faulty ingress can say is refused under the right secret too.
func TestPayloadClaims(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		old, by string
		kind    fault.Kind
		slug    string
	}{
		{"1800000010", "1800000016", fault.Unauthenticated, "assertion_lifetime_too_long"},
		{"1800000010", "1800000000", fault.Unauthenticated, "assertion_lifetime_too_long"},
		{"1800000010", "1799999999", fault.Unauthenticated, "assertion_lifetime_too_long"},
		{"1800000010", "9007199254740991", fault.Unauthenticated, "assertion_lifetime_too_long"},
		{"relay/eu/n1", "relay/eu/N1", fault.Unauthenticated, "spiffe_id_malformed"},
		{"relay/eu/n1", "relay/eu/n1/", fault.Unauthenticated, "spiffe_id_malformed"},
		{"spiffe://berth.example/relay/eu/n1", "", fault.Unauthenticated, "spiffe_id_malformed"},
		{`"s1"`, `""`, fault.Unauthenticated, "assertion_secret_unknown"},
		{`"GET"`, `""`, fault.Forbidden, "assertion_method_mismatch"},
	} {
		wantFault(t, openForged(t, strings.Replace(fields, c.old, c.by, 1)), c.kind, c.slug)
	}
}

// A target that servers read differently is refused though the assertion names it (I2).
func TestBoundTargetIsStrict(t *testing.T) {
	t.Parallel()
	for _, target := range []string{"//a", "/a/../b", "/a%2fb", "http://b/a"} {
		arrived := arrivedFields()
		arrived.Target = target
		value := forge(strings.Replace(fields, "/a?b=c&d=e", target, 1))
		_, err := identity.OpenAssertion([]string{value}, secretsOf(t, nil, "s1"), arrived, start(), skew)
		wantFault(t, err, fault.Forbidden, "target_ambiguous")
	}
}

// A value whose MAC is of the right form but made with another key is told apart from an unknown secret.
func TestMACMismatch(t *testing.T) {
	t.Parallel()
	other := identity.IngressSecret{ID: "s1", Key: secretOf("s2").Key}
	p := payloadFor(t)
	value, err := identity.Seal(other, p)
	must(t, err)
	_, err = identity.OpenAssertion([]string{value}, secretsOf(t, nil, "s1"), arrivedAs(p), start(), skew)
	wantFault(t, err, fault.Unauthenticated, "assertion_mac_mismatch")
	short := value[:strings.LastIndexByte(value, '.')+1]
	for _, mac := range []string{"", "AA", strings.Repeat("A", 42), strings.Repeat("A", 44)} {
		_, err = identity.OpenAssertion([]string{short + mac}, secretsOf(t, nil, "s1"), arrivedAs(p), start(), skew)
		wantFault(t, err, fault.Unauthenticated, "assertion_malformed")
	}
}

// One or two secrets are in force; each has an id and a key of its own, and none is shown by printing it.
func TestIngressSecrets(t *testing.T) {
	t.Parallel()
	a, b, c := secretOf("s1"), secretOf("s2"), secretOf("s3")
	renamed := identity.IngressSecret{ID: "s4", Key: a.Key}
	weak := identity.IngressSecret{ID: "s5", Key: make([]byte, 31)}
	for _, bad := range []struct {
		slug    string
		valid   []identity.IngressSecret
		retired []string
	}{
		{"ingress_secret_count", nil, nil},
		{"ingress_secret_count", []identity.IngressSecret{a, b, c}, nil},
		{"ingress_secret_repeated", []identity.IngressSecret{a, a}, nil},
		{"ingress_secret_repeated", []identity.IngressSecret{a, renamed}, nil},
		{"ingress_secret_repeated", []identity.IngressSecret{a}, []string{"s1"}},
		{"ingress_secret_short", []identity.IngressSecret{weak}, nil},
		{"invalid_id", []identity.IngressSecret{{ID: "S 1", Key: a.Key}}, nil},
	} {
		_, err := identity.NewIngressSecrets(bad.valid, bad.retired)
		wantFault(t, err, fault.Invalid, bad.slug)
	}
	own := identity.IngressSecret{ID: "s6", Key: make([]byte, 32)}
	secrets, err := identity.NewIngressSecrets([]identity.IngressSecret{own, b}, []string{"s1"})
	must(t, err)
	own.Key[0] = 1
	if s := secrets.Sealing(); s.ID != "s6" || s.Key[0] != 0 {
		t.Error("the first secret seals, and is a copy")
	}
	if s := (identity.IngressSecrets{}).Sealing(); s.ID != "" || s.Key != nil {
		t.Error("no secret seals")
	}
	for _, format := range []string{"%v", "%+v", "%#v", "%s", "%q"} {
		shown := fmt.Sprintf(format, a)
		if strings.Contains(shown, string(a.Key)) || strings.Contains(shown, fmt.Sprintf("%d", a.Key)) || !strings.Contains(shown, "s1") {
			t.Errorf("%s shows %s", format, shown)
		}
	}
}
