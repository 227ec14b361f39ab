package load

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"berth/adapters/contract"
)

// ids are names that nobody else gave.
func ids(prefix string) func() string {
	var n atomic.Int64
	return func() string { return fmt.Sprintf("%s%07d", prefix, n.Add(1)) }
}

// Tenants that are placed at once, one after the other, among 20 nodes.
func BenchmarkCreateTenant(b *testing.B) {
	Each(b, func(b *testing.B, r *Rig) {
		r.Beating(r.Nodes(20, 1_000_000)...)
		create := r.Creates(r.API(0), Region, ids("new"))
		r.bench(b, create)
	})
}

// A page of 100 tenants among 1,000.
func BenchmarkListTenants(b *testing.B) {
	Each(b, func(b *testing.B, r *Rig) {
		n := r.Nodes(1, 1000)
		r.Tenants(1000)
		r.Beating(n...)
		list := r.Gets(r.API(0), func() string { return "/api/v1/tenants?limit=100" })
		r.bench(b, list)
	})
}

// A migration that begins and is aborted: two writes.
func BenchmarkBeginAndAbortMigration(b *testing.B) {
	Each(b, func(b *testing.B, r *Rig) {
		nodes := r.Nodes(2, 1000)
		tenant := r.Tenants(1)[0].Tenant
		var now contract.Tenant
		r.Operator("GET", "/api/v1/tenants/"+tenant, nil, 200, &now)
		target := nodes[0].ID
		if now.Placement.Node == target {
			target = nodes[1].ID
		}
		r.Beating(nodes...)
		move := r.Moves(r.API(0), func() (string, string) { return tenant, target })
		r.bench(b, move)
	})
}

// A device that pairs by a code, made before, and gets its first token.
func BenchmarkPairAndToken(b *testing.B) {
	Each(b, func(b *testing.B, r *Rig) {
		r.Beating(r.Nodes(1, 1_000_000)...)
		public, private, err := ed25519.GenerateKey(rand.Reader)
		r.must(err)
		const aSecond = 1200 // more than there will be
		p := &pairs{r: r, c: r.API(0), codes: r.codes(int(aSecond*max(1, benchtime().Seconds())), 20), private: private}
		p.public = base64.RawURLEncoding.EncodeToString(public)
		r.bench(b, p.next)
	})
}

// codes makes pairing codes, so many a tenant.
func (r *Rig) codes(count, each int) []string {
	r.TB.Helper()
	c := r.API(0)
	out := make([]string, 0, count)
	for _, t := range r.Tenants(count/each + 1) {
		request := r.Ask("POST", "/api/v1/tenants/"+t.Tenant+"/pairing-codes", contract.NewPairingCode{Role: "owner"})
		for range each {
			a, err := c.Must(request, 201)
			r.must(err)
			code, err := Decode[contract.PairingCode](a)
			r.must(err)
			out = append(out, code.Code)
		}
	}
	return out
}

// pairs are devices that pair one after the other, all with one key.
type pairs struct {
	r       *Rig
	c       *Conn
	codes   []string
	public  string
	private ed25519.PrivateKey
}

func (p *pairs) next() (time.Duration, error) {
	if len(p.codes) == 0 {
		return 0, errors.New("there are no codes any more")
	}
	body, err := json.Marshal(contract.NewDevice{PairingCode: p.codes[0], Name: "phone", Kind: "phone", PublicKey: p.public})
	if err != nil {
		return 0, err
	}
	p.codes = p.codes[1:]
	paired, err := p.c.Must(Request("POST", "/v1/devices", "api.berth.test", body), 201)
	if err != nil {
		return 0, err
	}
	d, err := Decode[contract.Device](paired)
	if err != nil {
		return 0, err
	}
	assertion, err := proof(p.private, d.Principal)
	if err != nil {
		return 0, err
	}
	body, err = json.Marshal(contract.TokenRequest{Assertion: assertion})
	if err != nil {
		return 0, err
	}
	token, err := p.c.Must(Request("POST", "/v1/devices/token", "api.berth.test", body), 200)
	return paired.Took + token.Took, err
}

// proof is a device's assertion.
func proof(key ed25519.PrivateKey, principal string) (string, error) {
	now := time.Now()
	t := jwt.NewWithClaims(jwt.SigningMethodEdDSA, jwt.MapClaims{
		"sub": principal, "aud": publicURL + "/v1/devices/token", "iat": now.Unix(), "exp": now.Add(50 * time.Second).Unix(),
		"jti": rand.Text(),
	})
	t.Header["typ"] = "berth-device-assertion+jwt"
	return t.SignedString(key)
}

// The memory of a berthd that has started and does nothing.
func BenchmarkIdleMemory(b *testing.B) {
	Each(b, func(b *testing.B, r *Rig) {
		for b.Loop() {
			const mib = 1 << 20
			b.ReportMetric(r.Replicas[0].Resident()/mib, "MiB")
		}
	})
}
