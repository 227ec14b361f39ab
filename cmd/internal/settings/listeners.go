package settings

import "berth/cmd/internal/secretfile"

// Pair judges a certificate and its key, which come together and can be read.
func (f *Findings) Pair(certKey, cert, keyKey, key string) {
	switch {
	case cert == "" && key == "":
	case key == "":
		f.Add(keyKey, "is missing", "a certificate needs its key")
	case cert == "":
		f.Add(certKey, "is missing", "a key needs its certificate")
	default:
		if _, err := secretfile.KeyPair(cert, key); err != nil {
			f.Take(err, Called(keyKey))
		}
	}
}

// Listener judges an address that is safe behind TLS, or where only this machine can connect; the cure says how.
func (f *Findings) Listener(key, text string, secured bool, cure string) {
	a, err := ParseAddress(text)
	if err != nil {
		f.Take(err, Called(key))
		return
	}
	if !a.Local() && !secured {
		f.Add(key, "anybody could read along: this address is not loopback, and there is no certificate", cure)
	}
}

// Listening is the setting of a listener, and the address it has.
type Listening struct{ Key, Address string }

// Apart refuses two listeners at one address, other than one of which the system finds the port.
func (f *Findings) Apart(all ...Listening) {
	taken := map[string]string{"": "", Off: ""}
	for _, l := range all {
		other, ok := taken[l.Address]
		if ok && other != "" && PortOf(l.Address) != ":0" {
			f.Add(l.Key, "is the address of "+other+" already", "give each listener its own")
		}
		if !ok {
			taken[l.Address] = l.Key
		}
	}
}

// Called names a setting whatever a check of another package calls it; for Take.
func Called(key string) func(field string) string { return func(string) string { return key } }
