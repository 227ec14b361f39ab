package dev

import (
	"context"
	"crypto/tls"
	"encoding/pem"
	"os"
	"time"

	"github.com/go-json-experiment/json"

	"berth/adapters/apiclient"
	"berth/adapters/contract"
	"berth/application/trust"
	"berth/domain/audit"
	"berth/domain/fault"
	"berth/domain/identity"
)

// origin is where the region's devices will connect once there are relays. It can not be changed later.
const origin = "https://localhost:8450"

func nodeIDs() []string { return []string{"n1", "n2"} }

// seeds are what dev makes in the control plane.
type seeds struct {
	client *apiclient.Client
	api    apiclient.Operator
	token  string
	certs  map[string]*tls.Certificate // of the nodes
	holder string                      // the node that the tenant is on
}

func (s *seeds) close() { s.client.Close() }

// seed makes what is not there yet, through the operators' API. Only the first token is made from within.
func (r *running) seed(ctx context.Context) (*seeds, error) {
	s := &seeds{certs: map[string]*tls.Certificate{}}
	if err := r.authorize(ctx, s); err != nil {
		return nil, err
	}
	_, err := s.api.CreateRegion(ctx, contract.NewRegion{ID: region, Origin: origin})
	if err := unlessThere(err, "region_exists"); err != nil {
		return nil, err
	}
	for _, id := range nodeIDs() {
		_, err := s.api.CreateNode(ctx, contract.NewNode{
			ID: id, Region: region, Capacity: contract.Capacity{Tenants: 100, Bytes: 10 << 30},
		})
		if err := unlessThere(err, "node_exists"); err != nil {
			return nil, err
		}
		if err := r.certify(ctx, s, id); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func unlessThere(err error, slug string) error {
	if fault.SlugOf(err) == slug {
		return nil
	}
	return err
}

// certify makes the node's certificate by the CA and has it admitted.
func (r *running) certify(ctx context.Context, s *seeds, id string) error {
	name, err := identity.RelayID(trustDomain, region, id)
	if err != nil {
		return err
	}
	cert, err := r.ca.Node("node-"+id, name.String())
	if err != nil {
		return err
	}
	s.certs[id] = cert
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert.Certificate[0]})
	_, err = s.api.AdmitCredential(ctx, id, string(text))
	return err
}

// authorize finds the token of the last run, or makes one where that is gone or refused.
func (r *running) authorize(ctx context.Context, s *seeds) error {
	if last, ok := r.lastTold(); ok && last.OperatorToken != "" {
		if err := r.connect(s, last.OperatorToken); err != nil {
			return err
		}
		_, err := s.api.Tokens(ctx, apiclient.Page{Limit: 1})
		if kind := fault.KindOf(err); kind != fault.Unauthenticated && kind != fault.Forbidden {
			return err
		}
		s.close()
	}
	life := 365 * 24 * time.Hour
	made, err := r.process.Trust.CreateToken(ctx, trust.CreateTokenRequest{
		Actor: audit.Actor{Kind: audit.ActorSystem, ID: "berth", Source: "dev"},
		By:    trust.Operator{ID: "dev", Name: "dev", Role: identity.RoleAdmin},
		Name:  "dev", Role: identity.RoleAdmin, ExpiresIn: &life,
	})
	if err != nil {
		return err
	}
	return r.connect(s, made.Clear)
}

func (r *running) connect(s *seeds, token string) error {
	client, err := apiclient.New(apiclient.Options{Base: r.url(), CA: r.ca.Pool(), Proof: apiclient.Bearer(token)})
	if err != nil {
		return err
	}
	s.client, s.api, s.token = client, apiclient.NewOperator(client), token
	return nil
}

// lastTold is what the last run told.
func (p *place) lastTold() (told, bool) {
	text, err := os.ReadFile(p.path("dev.json"))
	if err != nil {
		return told{}, false
	}
	var t told
	return t, json.Unmarshal(text, &t) == nil
}
