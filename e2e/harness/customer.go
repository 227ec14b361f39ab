package harness

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"berth/adapters/apiclient"
	"berth/adapters/contract"
	"berth/domain/fault"
)

// Customer is a customer of a stand with a license and, once Deploys was called, one deployment.
type Customer struct {
	*Stand
	ID      string
	License contract.License // with its key
	Install string
}

// Roomy is a quota that no scenario reaches by chance.
func Roomy() contract.Quota {
	return contract.Quota{Apps: 100, Replicas: 100, CPU: "100", Memory: "100Gi"}
}

// NewCustomer makes a customer with a license for a day that is enforced, without grace, unless terms says otherwise.
func (s *Stand) NewCustomer(id string, terms ...func(*contract.NewLicense)) *Customer {
	s.tb.Helper()
	o := s.Operator()
	_, err := o.CreateCustomer(s.tb.Context(), contract.NewCustomer{ID: id, Name: "Customer " + id})
	must(s.tb, err)
	in := contract.NewLicense{
		Customer: id, Environment: "PROD", ExpiresAt: time.Now().Add(24 * time.Hour), Grace: "0s", Enforce: "enforce", Quota: Roomy(),
	}
	for _, change := range terms {
		change(&in)
	}
	license, err := o.CreateLicense(s.tb.Context(), in)
	must(s.tb, err)
	return &Customer{Stand: s, ID: id, License: license}
}

// Entitle puts exactly these apps on the license.
func (c *Customer) Entitle(apps ...string) {
	c.tb.Helper()
	var list []contract.LicenseApp
	for _, app := range apps {
		list = append(list, contract.LicenseApp{App: app})
	}
	_, err := c.Operator().SetLicenseApps(c.tb.Context(), c.License.ID, contract.LicenseApps{Apps: list})
	must(c.tb, err)
}

// Terms changes the license.
func (c *Customer) Terms(change contract.LicenseChange) {
	c.tb.Helper()
	_, err := c.Operator().ChangeLicense(c.tb.Context(), c.License.ID, change)
	must(c.tb, err)
}

// ExpiresIn lets the license end so far from now.
func (c *Customer) ExpiresIn(d time.Duration) {
	c.tb.Helper()
	at := time.Now().Add(d)
	c.Terms(contract.LicenseChange{ExpiresAt: &at})
}

// Deploys makes a deployment with selected services.
func (c *Customer) Deploys(selected ...contract.SelectedService) {
	c.tb.Helper()
	c.Install = c.Deployment(selected...).InstallID
}

// Deployment makes one more deployment of the license.
func (c *Customer) Deployment(selected ...contract.SelectedService) contract.Deployment {
	c.tb.Helper()
	d, err := c.Operator().CreateDeployment(c.tb.Context(), contract.NewDeployment{
		Customer: c.ID, License: c.License.ID, Namespace: c.ID, SelectedServices: selected,
	})
	must(c.tb, err)
	return d
}

// Market is the customer's platform at a replica.
func (c *Customer) Market(replica int) apiclient.Market {
	c.tb.Helper()
	return apiclient.NewMarket(c.Client(replica, c.Platform()))
}

// Platform is what the customer's platform proves itself by.
func (c *Customer) Platform() apiclient.Platform {
	return apiclient.Platform{InstallID: c.Install, LicenseKey: c.License.LicenseKey}
}

// Asks sends a request of the customer's platform to a replica, checks the answer against the server's own document, and
// returns it as it is.
func (c *Customer) Asks(replica int, method, path string, body any, header ...string) Answer {
	c.tb.Helper()
	pair := []string{contract.HeaderInstallID, c.Install, contract.HeaderLicenseKey, c.License.LicenseKey}
	return c.at(replica).Do("", method, "/v1/market"+path, body, append(pair, header...)...)
}

// Submits asks for something that is granted.
func (c *Customer) Submits(app, action, version string) contract.Intent {
	c.tb.Helper()
	v, err := c.Market(0).Submit(c.tb.Context(), app, contract.NewIntent{Action: action, Version: version})
	if err != nil {
		c.tb.Fatalf("%s of %s %s is refused: %v %v", action, app, version, err, Slugs(err))
	}
	return v
}

// Refused asks for something that is refused, and returns everything that stands against it by slug. Each has a cure.
func (c *Customer) Refused(app string, in contract.NewIntent) []string {
	c.tb.Helper()
	v, err := c.Market(0).Submit(c.tb.Context(), app, in)
	if err == nil {
		c.tb.Fatalf("%s of %s is granted: %+v", in.Action, app, v)
	}
	return Slugs(err)
}

// Slugs are those of everything that a fault names; its own where it names nothing more, and none of no fault.
func Slugs(err error) (slugs []string) {
	if err == nil {
		return nil
	}
	f, ok := errors.AsType[*fault.Error](err)
	if !ok {
		return []string{"no fault: " + err.Error()}
	}
	for _, part := range f.Errors {
		slugs = append(slugs, part.Slug)
	}
	if slugs == nil {
		slugs = []string{f.Slug}
	}
	return slugs
}

// Listed is an app in the market; false where it is not in it.
func (c *Customer) Listed(app string) (contract.MarketApp, bool) {
	c.tb.Helper()
	all, err := c.Market(1).Apps(c.tb.Context())
	must(c.tb, err)
	for _, a := range all.Apps {
		if a.App == app {
			return a, true
		}
	}
	return contract.MarketApp{}, false
}

// Eventually waits for something that the servers do by themselves.
func (s *Stand) Eventually(what string, ok func() bool) {
	s.tb.Helper()
	s.Servers[0].Eventually(what, ok)
}

// Ends waits until an intent is in a state, at the other replica than it was sent to.
func (c *Customer) Ends(intent, state string) contract.Intent {
	c.tb.Helper()
	var v contract.Intent
	c.Eventually("intent "+intent+" is "+state, func() bool {
		var err error
		v, err = c.Market(1).Intent(c.tb.Context(), intent, time.Second)
		must(c.tb, err)
		return v.State == state
	})
	return v
}

// Package makes a delivery package and fetches it: its files by name, and its link, which is spent.
func (c *Customer) Package() (files map[string][]byte, link string) {
	c.tb.Helper()
	p, err := c.Operator().CreatePackage(c.tb.Context(), c.Install, contract.NewPackage{})
	must(c.tb, err)
	_, path, found := strings.Cut(p.DownloadURL, "/packages/")
	if !found {
		c.tb.Fatalf("the link is %s", p.DownloadURL)
	}
	link = "/packages/" + path
	a := c.at(1).Do("", http.MethodGet, link, nil)
	if a.Status != http.StatusOK {
		c.tb.Fatalf("the link is answered with %d %s", a.Status, a.Body)
	}
	files, err = unpack(a.Body)
	must(c.tb, err)
	return files, link
}

func unpack(archive []byte) (map[string][]byte, error) {
	zipped, err := gzip.NewReader(bytes.NewReader(archive))
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	for r := tar.NewReader(zipped); ; {
		entry, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files, nil
		}
		if err != nil {
			return nil, err
		}
		if files[entry.Name], err = io.ReadAll(r); err != nil {
			return nil, err
		}
	}
}
