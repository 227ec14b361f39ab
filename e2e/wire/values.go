package wire

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"berth/e2e/harness"
)

// values are what a story's placeholders stand for in one run.
type values struct {
	bound  map[string]any // by answers
	made   map[string][]byte
	keys   map[string]ed25519.PrivateKey
	ofStep map[string]string // of the step that is played: signed, sha256
}

func newValues() *values {
	return &values{
		bound: map[string]any{}, made: map[string][]byte{}, keys: map[string]ed25519.PrivateKey{}, ofStep: map[string]string{},
	}
}

var placeholder = regexp.MustCompile(`\{\{([^{}]*)\}\}`)

// expand replaces the placeholders in a value of a request. A string that is nothing but one takes its JSON type.
func (v *values) expand(in any) (any, error) {
	switch t := in.(type) {
	case string:
		if m := placeholder.FindString(t); m == t && m != "" {
			return v.value(t[2 : len(t)-2])
		}
		return v.text(t)
	case []any:
		out := make([]any, len(t))
		for i, e := range t {
			x, err := v.expand(e)
			if err != nil {
				return nil, err
			}
			out[i] = x
		}
		return out, nil
	case map[string]any:
		out := make(map[string]any, len(t))
		for k, e := range t {
			x, err := v.expand(e)
			if err != nil {
				return nil, err
			}
			out[k] = x
		}
		return out, nil
	}
	return in, nil
}

// text replaces the placeholders within a text.
func (v *values) text(in string) (string, error) {
	var failed error
	out := placeholder.ReplaceAllStringFunc(in, func(m string) string {
		x, err := v.value(m[2 : len(m)-2])
		if err != nil {
			failed = err
		}
		return fmt.Sprint(x)
	})
	return out, failed
}

// value is what one placeholder stands for.
func (v *values) value(expression string) (any, error) {
	words := strings.Fields(expression)
	if len(words) == 0 {
		return nil, fmt.Errorf("an empty placeholder")
	}
	name, args := words[0], words[1:]
	m, ok := makers[name]
	if ok && len(args) >= m.least {
		return m.of(v, args)
	}
	if x, ok := v.ofStep[expression]; ok {
		return x, nil
	}
	if x, ok := v.bound[expression]; ok {
		return x, nil
	}
	return nil, fmt.Errorf("nothing is bound to {{%s}}", expression)
}

type maker struct {
	least int // arguments
	of    func(*values, []string) (any, error)
}

var makers = map[string]maker{
	"unix": {0, func(_ *values, args []string) (any, error) { return unix(args) }},
	"random": {1, func(v *values, args []string) (any, error) {
		return base64.RawURLEncoding.EncodeToString(v.random(args[0])), nil
	}},
	"key":         {1, func(v *values, args []string) (any, error) { return v.publicKey(args[0]), nil }},
	"certificate": {3, func(v *values, args []string) (any, error) { return v.certificate(args) }},
	"csr":         {1, func(v *values, args []string) (any, error) { return v.request(args) }},
	"age":         {1, func(v *values, args []string) (any, error) { return v.recipient(args[0]) }},
	"seal":        {2, func(v *values, args []string) (any, error) { return v.sealKey(args[0], args[1]) }},
	"fingerprint": {1, func(v *values, args []string) (any, error) { return v.fingerprint(args[0]) }},
}

func unix(args []string) (any, error) {
	now := time.Now().Unix()
	if len(args) == 0 {
		return json.Number(strconv.FormatInt(now, 10)), nil
	}
	later, err := strconv.ParseInt(args[0], 10, 64)
	return json.Number(strconv.FormatInt(now+later, 10)), err
}

func (v *values) random(name string) []byte {
	const bits128 = 16
	b, ok := v.made["random "+name]
	if !ok {
		b = make([]byte, bits128)
		_, _ = rand.Read(b) // never fails
		v.made["random "+name] = b
	}
	return b
}

func (v *values) key(name string) ed25519.PrivateKey {
	k, ok := v.keys[name]
	if !ok {
		k = ed25519.NewKeyFromSeed(append(v.random("seed of "+name), v.random("more of "+name)...))
		v.keys[name] = k
	}
	return k
}

func (v *values) publicKey(name string) string {
	public, _ := v.key(name).Public().(ed25519.PublicKey)
	return base64.RawURLEncoding.EncodeToString(public)
}

// certificate makes one for a SPIFFE id that is valid from a minute ago, or from the fourth argument on, for so long
// from now.
func (v *values) certificate(args []string) (string, error) {
	until, err := time.ParseDuration(args[2])
	if err != nil {
		return "", err
	}
	from := -time.Minute
	if len(args) > 3 {
		if from, err = time.ParseDuration(args[3]); err != nil {
			return "", err
		}
	}
	name := "certificate " + args[0]
	if _, ok := v.made[name]; !ok {
		now := time.Now()
		v.made[name] = harness.Certificate(args[1], now.Add(from), now.Add(until))
		v.bound["certificate of "+args[1]] = args[0]
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: v.made[name]})), nil
}

// request makes a certificate request by the key of a name; by further arguments it asks for DNS names, too.
func (v *values) request(args []string) (string, error) {
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{DNSNames: args[1:]}, v.key(args[0]))
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der})), err
}

func (v *values) fingerprint(name string) (string, error) {
	der, ok := v.made["certificate "+name]
	if !ok {
		return "", fmt.Errorf("there is no certificate %s", name)
	}
	sum := sha256.Sum256(der)
	return hex.EncodeToString(sum[:]), nil
}
