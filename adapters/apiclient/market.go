package apiclient

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"berth/adapters/contract"
)

// Platform is what a customer's platform proves itself by: its installation and the key of its license.
type Platform struct {
	InstallID  string
	LicenseKey string
}

// Prove adds both headers.
func (p Platform) Prove(r *http.Request, _ []byte) error {
	r.Header.Set(contract.HeaderInstallID, p.InstallID)
	r.Header.Set(contract.HeaderLicenseKey, p.LicenseKey)
	return nil
}

// String never shows the key.
func (p Platform) String() string { return "platform of " + p.InstallID }

// GoString never shows the key.
func (p Platform) GoString() string { return p.String() }

// Market is the API of customers' platforms, /v1/market. Its client's proof is a Platform.
type Market struct{ c *Client }

// NewMarket returns the customers' API of a server.
func NewMarket(c *Client) Market { return Market{c} }

const market = "/v1/market"

// Apps lists the apps on the license, and how they stand.
func (m Market) Apps(ctx context.Context) (contract.MarketApps, error) {
	return get[contract.MarketApps](ctx, m.c, market+"/apps", nil)
}

// Agent shows the agent in the customer's cluster, and the key that secrets are sealed to.
func (m Market) Agent(ctx context.Context) (contract.MarketAgent, error) {
	return get[contract.MarketAgent](ctx, m.c, market+"/agent", nil)
}

// License shows the license and what is used of it.
func (m Market) License(ctx context.Context) (contract.MarketLicense, error) {
	return get[contract.MarketLicense](ctx, m.c, market+"/license", nil)
}

// Submit asks for an app to be installed, upgraded or uninstalled. All that stands against it comes back in one fault.
func (m Market) Submit(ctx context.Context, app string, in contract.NewIntent) (contract.Intent, error) {
	return post[contract.Intent](ctx, m.c, market+"/apps"+seg(app)+"/intents", in)
}

// Intent shows an intent; with a wait, which is cut to whole seconds and is at most 30 s, once it changes or ends.
func (m Market) Intent(ctx context.Context, id string, wait time.Duration) (contract.Intent, error) {
	var out contract.Intent
	k := call{method: http.MethodGet, path: market + "/intents" + seg(id), out: &out, wait: wait}
	if wait >= time.Second {
		k.query = url.Values{"wait": {waiting(wait)}}
	}
	_, err := m.c.do(ctx, k)
	return out, err
}

// SetInstallation says whether the platform has installed an app.
func (m Market) SetInstallation(ctx context.Context, app string, in contract.NewInstallation) (contract.Installation, error) {
	return send[contract.Installation](ctx, m.c, http.MethodPut, market+"/apps"+seg(app)+"/installation", in)
}
