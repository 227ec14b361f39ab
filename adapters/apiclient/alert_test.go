package apiclient_test

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"testing"

	"berth/adapters/apiclient"
	"berth/domain/fault"
)

// A server that does not take the client's certificate is told apart from one that is not there: it refused, before
// anything was carried out.
func TestRefusedCertificate(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*tls.Config)
		slug   string
	}{
		"unknown authority": {func(c *tls.Config) {
			c.ClientAuth, c.ClientCAs = tls.RequireAndVerifyClientCert, x509.NewCertPool()
		}, "certificate_refused"},
		"its own verdict": {func(c *tls.Config) {
			c.ClientAuth = tls.RequireAnyClientCert
			c.VerifyConnection = func(tls.ConnectionState) error { return errors.New("no") }
		}, "certificate_refused"},
		"another version": {func(c *tls.Config) { c.MinVersion, c.MaxVersion = tls.VersionTLS11, tls.VersionTLS11 }, "server_unreachable"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewUnstartedServer(http.NotFoundHandler())
			server.Config.ErrorLog = log.New(io.Discard, "", 0)
			server.TLS = &tls.Config{MinVersion: tls.VersionTLS13}
			c.change(server.TLS)
			server.StartTLS()
			t.Cleanup(server.Close)
			pool := x509.NewCertPool()
			pool.AddCert(server.Certificate())
			own := server.TLS.Certificates[0]
			client, err := apiclient.New(apiclient.Options{
				Base: server.URL, CA: pool, Certificate: func() (*tls.Certificate, error) { return &own, nil },
			})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(client.Close)
			_, err = apiclient.NewNode(client, "n1").SigningKeys(t.Context())
			if got := fault.SlugOf(err); got != c.slug {
				t.Errorf("got %v", err)
			}
		})
	}
}
