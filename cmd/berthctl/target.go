package main

import (
	"context"
	"crypto"
	"crypto/x509"
	"encoding/pem"
	"net"
	"net/url"
	"os"
	"strings"

	"berth/adapters/apiclient"
	"berth/adapters/ingress/proof"
	"berth/cmd/internal/cli"
)

// target is what the command line names, ready for use.
type target struct {
	site      proof.Site
	operator  apiclient.Operator
	enrolment apiclient.Enrolment
	close     func()
}

// open reads the command line. Nothing is asked of the deployment yet.
func (s streams) open(f verifyFlags) (*target, error) {
	token, err := s.environment("BERTH_TOKEN", "an operator token")
	if err != nil {
		return nil, err
	}
	if f.url == "" {
		if f.url, err = s.environment("BERTH_URL", "the API of the control plane, https://host:port"); err != nil {
			return nil, err
		}
	}
	if f.ingress == "" {
		return nil, cli.Usage("--ingress is needed: host:port where nodes reach the ingress")
	}
	if f.enroll == "" {
		return nil, cli.Usage("--enroll is needed: https://host:port where nodes enrol")
	}
	t := &target{site: proof.Site{Token: token, Existing: f.node, MaxConnectionsPerNode: f.perNode}}
	roots, err := readRoots(f.apiCA)
	if err != nil {
		return nil, err
	}
	if err := t.listeners(f, roots); err != nil {
		return nil, err
	}
	if t.site.Authority, err = readAuthority(f.caCert, f.caKey); err != nil {
		return nil, err
	}
	return t, t.clients(f, roots, token)
}

func (t *target) clients(f verifyFlags, roots *x509.CertPool, token string) error {
	api, err := apiclient.New(apiclient.Options{Base: f.url, CA: roots, Proof: apiclient.Bearer(token)})
	if err != nil {
		return err
	}
	enroll, err := apiclient.New(apiclient.Options{Base: f.enroll, CA: roots})
	if err != nil {
		return err
	}
	t.operator, t.enrolment = apiclient.NewOperator(api), apiclient.NewEnrolment(enroll)
	t.close = func() { api.Close(); enroll.Close() }
	return nil
}

func (t *target) listeners(f verifyFlags, roots *x509.CertPool) error {
	ingressRoots := roots
	if f.ingressCA != "" {
		var err error
		if ingressRoots, err = readRoots(f.ingressCA); err != nil {
			return err
		}
	}
	if !strings.Contains(f.ingress, "://") {
		f.ingress = "https://" + f.ingress
	}
	for _, l := range []struct {
		flag, value string
		roots       *x509.CertPool
		into        **proof.Endpoint
	}{
		{"--url", f.url, roots, &t.site.API}, {"--enroll", f.enroll, roots, &t.site.Enroll}, {"--metrics", f.metrics, roots, &t.site.Metrics},
		{"--internal", f.internal, roots, &t.site.Internal}, {"--ingress", f.ingress, ingressRoots, &t.site.Ingress},
	} {
		if l.value == "" {
			continue
		}
		e, err := endpoint(l.value, l.roots)
		if err != nil {
			return cli.Usage("%s: %w", l.flag, err)
		}
		*l.into = e
	}
	if !t.site.Ingress.TLS {
		return cli.Usage("--ingress: the ingress speaks TLS")
	}
	return nil
}

// endpoint reads where a listener is.
func endpoint(text string, roots *x509.CertPool) (*proof.Endpoint, error) {
	if path, ok := strings.CutPrefix(text, "unix:"); ok && path != "" {
		return &proof.Endpoint{Network: "unix", Address: path}, nil
	}
	u, err := url.Parse(strings.TrimSuffix(text, "/"))
	if err != nil || u.Hostname() == "" || u.Scheme != "https" && u.Scheme != "http" || u.Path != "" || u.RawQuery != "" || u.User != nil {
		return nil, cli.Usage("%q is not https://host:port, http://host:port or unix:PATH", text)
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{"https": "443", "http": "80"}[u.Scheme]
	}
	return &proof.Endpoint{
		Network: "tcp", Address: net.JoinHostPort(u.Hostname(), port), Host: u.Host, TLS: u.Scheme == "https", Roots: roots,
	}, nil
}

func readRoots(file string) (*x509.CertPool, error) {
	if file == "" {
		return nil, nil //nolint:nilnil // no pool is the system's
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, cli.Usage("%w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, cli.Usage("%s holds no certificate in PEM", file)
	}
	return pool, nil
}

func readAuthority(certFile, keyFile string) (*proof.Authority, error) {
	if certFile == "" && keyFile == "" {
		return nil, nil //nolint:nilnil // none was given
	}
	certificate, err := readBlock(certFile)
	if err != nil {
		return nil, err
	}
	c, err := x509.ParseCertificate(certificate)
	if err != nil {
		return nil, cli.Usage("%s: %w", certFile, err)
	}
	raw, err := readBlock(keyFile)
	if err != nil {
		return nil, err
	}
	key, err := x509.ParsePKCS8PrivateKey(raw)
	if err != nil {
		return nil, cli.Usage("%s: %w", keyFile, err)
	}
	signer, ok := key.(crypto.Signer)
	if !ok {
		return nil, cli.Usage("%s holds no key that signs", keyFile)
	}
	return &proof.Authority{Certificate: c, Key: signer}, nil
}

func readBlock(file string) ([]byte, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, cli.Usage("%w", err)
	}
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, cli.Usage("%s is no PEM", file)
	}
	return block.Bytes, nil
}

// region is the one to make nodes in.
func (t *target) region(ctx context.Context, named string) (string, error) {
	if named != "" {
		return named, nil
	}
	all, err := t.operator.Regions(ctx, apiclient.Page{Limit: 2})
	if err != nil {
		return "", err
	}
	if len(all.Regions) != 1 {
		return "", cli.Usage("--region is needed where there is not exactly one region")
	}
	return all.Regions[0].ID, nil
}
