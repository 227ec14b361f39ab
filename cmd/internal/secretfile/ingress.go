package secretfile

import (
	"bytes"
	"encoding/base64"

	"go.yaml.in/yaml/v3"

	"berth/domain/fault"
	"berth/domain/identity"
)

// ingressFile is the file that control plane and ingress share, in YAML or JSON:
//
//	secrets:
//	  - id: one
//	    key: <base64 of at least 32 random bytes>
//	retired: [zero]
//
// The first secret is the one to sign by; there are two while one is rotated.
type ingressFile struct {
	Secrets []ingressSecret `yaml:"secrets"`
	Retired []string        `yaml:"retired"`
}

type ingressSecret struct {
	ID  string `yaml:"id"`
	Key string `yaml:"key"`
}

// IngressSecrets reads what the ingress signs by. Faults: those of Read; Invalid ingress_secrets_malformed, and those of
// identity.NewIngressSecrets. None of them holds anything of the file.
func IngressSecrets(path string) (identity.IngressSecrets, error) {
	data, err := Read(path)
	if err != nil {
		return identity.IngressSecrets{}, err
	}
	var file ingressFile
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	decoder.KnownFields(true)
	if decoder.Decode(&file) != nil { // its text repeats what it could not read
		return identity.IngressSecrets{}, malformed(path, "it is not {secrets: [{id, key}], retired: [id]}")
	}
	secrets := make([]identity.IngressSecret, 0, len(file.Secrets))
	for _, s := range file.Secrets {
		key, err := base64.StdEncoding.DecodeString(s.Key)
		if err != nil {
			return identity.IngressSecrets{}, malformed(path, "a key is not base64")
		}
		secrets = append(secrets, identity.IngressSecret{ID: s.ID, Key: key})
	}
	return identity.NewIngressSecrets(secrets, file.Retired)
}

func malformed(path, why string) error {
	return fault.New(fault.Invalid, "ingress_secrets_malformed", "%s: %s", path, why).
		Curable("make a key by openssl rand -base64 32")
}
