package secretfile

import (
	"crypto/tls"
	"os"

	"berth/domain/fault"
)

// KeyPair reads a certificate chain and its private key. Faults: those of Read; Invalid key_pair_malformed.
func KeyPair(certFile, keyFile string) (*tls.Certificate, error) {
	chain, err := os.ReadFile(certFile)
	if err != nil {
		return nil, unreadable(certFile, err)
	}
	key, err := Read(keyFile)
	if err != nil {
		return nil, err
	}
	pair, err := tls.X509KeyPair(chain, key)
	if err != nil {
		return nil, fault.New(fault.Invalid, "key_pair_malformed", "%s and %s are no certificate and its key, in PEM",
			certFile, keyFile).Because(err)
	}
	return &pair, nil
}
