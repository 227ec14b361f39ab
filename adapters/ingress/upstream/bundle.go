package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"berth/adapters/contract"
)

// Where the internal listener tells what its ingress believes. It is outside the nodes' API and needs no assertion: who
// may connect at all may read it.
const (
	bundleTarget = "/trust-bundle"
	bundleHost   = "berth.internal"
	maxBundle    = 1 << 20
)

// TrustBundle asks the control plane for the roots of node certificates that are in force now.
func (u *Upstream) TrustBundle(ctx context.Context) (contract.TrustBundle, error) {
	var bundle contract.TrustBundle
	a, err := u.Do(ctx, &Request{
		Method: http.MethodGet, Target: bundleTarget, Host: bundleHost, Fields: []Field{{"Accept", "application/json"}},
	})
	if err != nil {
		return bundle, err
	}
	defer a.Close()
	data, err := io.ReadAll(io.LimitReader(a, maxBundle+1))
	switch {
	case err != nil:
		return bundle, err
	case a.Status != http.StatusOK:
		return bundle, fmt.Errorf("the control plane answered %d", a.Status)
	case len(data) > maxBundle:
		return bundle, errors.New("the bundle is longer than a mebibyte")
	}
	return bundle, json.Unmarshal(data, &bundle)
}
