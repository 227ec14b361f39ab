package harness

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base32"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"maps"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"
)

// Secrets are what nobody may find written anywhere, each in every form that it could be written in.
type Secrets struct {
	forms map[string]string // a form, and what it is one of
	what  map[string]bool
}

// NewSecrets returns an empty collection.
func NewSecrets() *Secrets { return &Secrets{forms: map[string]string{}, what: map[string]bool{}} }

// Has says whether a secret of this name was collected.
func (s *Secrets) Has(what string) bool { return s.what[what] }

// shortest is the least that a secret has: what is shorter is found by chance.
const shortest = 12

// Add collects a secret: as it is, in hex, in the bases 32 and 64 of both alphabets at each offset that it may have in
// something longer, and as Go prints bytes.
func (s *Secrets) Add(what string, secret []byte) {
	if len(secret) < shortest {
		panic(fmt.Sprintf("%s has %d bytes, which are found by chance", what, len(secret)))
	}
	s.what[what] = true
	for _, form := range forms(secret) {
		s.forms[form] = what
	}
}

func forms(secret []byte) []string {
	text := hex.EncodeToString(secret)
	numbers := strings.Trim(fmt.Sprintf("%d", secret), "[]")
	out := []string{
		string(secret), text, strings.ToUpper(text), url.QueryEscape(string(secret)), numbers, strings.ReplaceAll(numbers, " ", ","),
	}
	for offset := range 5 {
		upper := inner(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString, secret, offset, 5)
		out = append(out, upper, strings.ToLower(upper))
	}
	for offset := range 3 {
		for _, e := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			in := inner(e.EncodeToString, secret, offset, 3)
			out = append(out, in, url.QueryEscape(in))
		}
	}
	return out
}

// inner is what stays of a secret's encoding whatever stands before and behind it, where so many bytes stand before it in
// the group of bytes that it begins in.
func inner(encode func([]byte) string, secret []byte, offset, group int) string {
	symbols := len(encode(make([]byte, group)))
	from := 0
	if offset > 0 {
		from = symbols
	}
	whole := (offset + len(secret)) / group * symbols
	return encode(append(make([]byte, offset), secret...))[from:whole]
}

// AddText collects a token or password, also without the prefix that says what it is.
func (s *Secrets) AddText(what, text string) {
	text = strings.TrimSpace(text)
	s.Add(what, []byte(text))
	if _, rest, found := strings.Cut(text, "_"); found && len(rest) >= shortest {
		s.Add(what, []byte(rest))
	}
}

// AddKeys collects every private key in a PEM text: its file as it is written, its DER, and the number or seed that is
// the secret of it. It returns how many there are.
func (s *Secrets) AddKeys(what string, text []byte) int {
	found := 0
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		if !strings.Contains(block.Type, "PRIVATE KEY") {
			continue
		}
		found++
		s.Add(what, block.Bytes)
		if core := core(block.Bytes); core != nil {
			s.Add(what, core)
		}
	}
	return found
}

func core(der []byte) []byte {
	key, err := x509.ParsePKCS8PrivateKey(der)
	if err != nil {
		return nil
	}
	switch k := key.(type) {
	case ed25519.PrivateKey:
		return k.Seed()
	case *ecdsa.PrivateKey:
		if b, err := k.Bytes(); err == nil {
			return b
		}
	case *rsa.PrivateKey:
		return k.D.Bytes()
	}
	return nil
}

// Found says which secrets stand in a text, also across the ends of its lines, in words that do not repeat them.
func (s *Secrets) Found(text []byte) []string {
	found := map[string]bool{}
	joined := []byte(strings.NewReplacer("\r", "", "\n", "", `\r`, "", `\n`, "").Replace(string(text)))
	for form, what := range s.forms {
		if bytes.Contains(text, []byte(form)) || bytes.Contains(joined, []byte(form)) {
			found[what] = true
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// In fails the test where a secret stands in a text.
func (s *Secrets) In(t testing.TB, where string, text []byte) {
	t.Helper()
	for _, what := range s.Found(text) {
		t.Errorf("%s shows %s", where, what)
	}
}

// InFile is In for a file.
func (s *Secrets) InFile(t testing.TB, path string) {
	t.Helper()
	text, err := os.ReadFile(path)
	must(t, err)
	s.In(t, path, text)
}
