package dev

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/go-json-experiment/json"

	"berth/adapters/apiclient"
	"berth/adapters/contract"
	"berth/application/trust"
	"berth/domain/audit"
	"berth/domain/fault"
	"berth/domain/identity"
)

// seeds are what dev makes in the control plane.
type seeds struct {
	client *apiclient.Client
	api    apiclient.Operator
	token  string
	before map[string]int64 // by node, the heartbeat generation of its last run
	holder string           // the node that the tenant is on
	origin string           // of the region

	licenseKey string
	install    string
}

func (s *seeds) close() { s.client.Close() }

// seed makes what is not there yet, through the operators' API. Only the first token is made from within.
func (r *running) seed(ctx context.Context) (*seeds, error) {
	s := &seeds{before: map[string]int64{}}
	if err := r.authorize(ctx, s); err != nil {
		return nil, err
	}
	_, err := s.api.CreateRegion(ctx, contract.NewRegion{ID: region, Origin: r.originURL()})
	if err := unlessThere(err, "region_exists"); err != nil {
		return nil, err
	}
	if err := r.matchOrigin(ctx, s); err != nil {
		return nil, err
	}
	for _, n := range r.nodes {
		if err := r.define(ctx, s, n); err != nil {
			return nil, err
		}
	}
	return s, r.seedDelivery(ctx, s)
}

func unlessThere(err error, slug string) error {
	if fault.SlugOf(err) == slug {
		return nil
	}
	return err
}

// define makes a node, and lets one whose data directory was taken away register with a new one.
func (r *running) define(ctx context.Context, s *seeds, n node) error {
	made, err := s.api.CreateNode(ctx, contract.NewNode{
		ID: n.id, Region: region, Capacity: contract.Capacity{Tenants: 100, Bytes: 10 << 30},
	})
	if fault.SlugOf(err) == "node_exists" {
		made, err = s.api.Node(ctx, n.id)
	}
	if err != nil {
		return err
	}
	s.before[n.id] = made.Heartbeat.Generation
	if _, err := os.Stat(filepath.Join(r.data(n), "node.db")); errors.Is(err, fs.ErrNotExist) && made.Heartbeat.Generation > 0 {
		if _, err = s.api.ReplaceStorage(ctx, n.id); err != nil {
			return fmt.Errorf("node %s has been there before and its data directory %s has not: %w; delete %s to begin anew",
				n.id, r.data(n), err, r.dir)
		}
	}
	return nil
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
