package harness

import (
	"fmt"
	"strings"

	"berth/adapters/contract"
	"berth/domain/fault"
)

// Product is a release to be made: one Deployment with one image, by default in the stand's registry. The zero values of
// the rest are those of a small app that needs nothing. Its parameters are "greeting", which customers may set, and
// "replicas".
type Product struct {
	App, Version string
	Image        string                 // reference; empty: host/app:version in the stand's registry, which is pushed
	Requires     []contract.Requirement // other apps
	SchemaGate   bool
	Secret       bool // has the secret parameter "password"
	Replicas     int  // by default, one
}

// Publish puts a release into the catalogue, and its app where that is not there, and pushes its image.
func (s *Stand) Publish(products ...Product) {
	s.tb.Helper()
	o := s.Operator()
	for _, p := range products { // all before any release, as releases may need one another's apps
		_, err := o.CreateApp(s.tb.Context(), contract.NewApp{ID: p.App, Name: "App " + p.App})
		if err != nil && fault.SlugOf(err) != "app_exists" {
			s.tb.Fatal(err)
		}
	}
	for _, p := range products {
		if p.Image == "" {
			p.Image = s.Registry.Host + "/" + p.App + ":" + p.Version
			s.Push(p.App, p.Version, "linux/amd64", p.App+p.Version)
		}
		_, err := o.CreateRelease(s.tb.Context(), p.App, p.release())
		must(s.tb, err)
	}
}

func (p Product) release() contract.NewRelease {
	files := map[string]string{"app.yaml": fmt.Sprintf(workload, p.App, p.App, p.App, p.App, p.Image, p.from())}
	parameters := []contract.Parameter{
		{Name: "greeting", Type: "string", Default: "hello", CustomerSettable: true},
		{Name: "replicas", Type: "int", Default: max(p.Replicas, 1)},
	}
	if p.Secret {
		files["secret.yaml"] = fmt.Sprintf(secretObject, p.App)
		parameters = append(parameters, contract.Parameter{Name: "password", Type: "string", Secret: true, Required: true})
	}
	return contract.NewRelease{
		Version: p.Version, Source: contract.Source{Kind: "manifests", Files: files}, Parameters: parameters, Requires: p.Requires,
		SchemaGate: p.SchemaGate,
	}
}

// from is where the container has its password from, where it has one.
func (p Product) from() string {
	if !p.Secret {
		return ""
	}
	return strings.ReplaceAll(secretEnv, "NAME", p.App)
}

const workload = `apiVersion: apps/v1
kind: Deployment
metadata:
  name: %s
spec:
  replicas: ${replicas}
  selector: {matchLabels: {app: %s}}
  template:
    metadata: {labels: {app: %s}}
    spec:
      automountServiceAccountToken: false
      securityContext:
        runAsNonRoot: true
        seccompProfile: {type: RuntimeDefault}
      containers:
      - name: %s
        image: %s
        resources:
          requests: {cpu: 100m, memory: 64Mi}
        securityContext:
          allowPrivilegeEscalation: false
          capabilities: {drop: [ALL]}
        env:
        - name: GREETING
          value: ${greeting}
%s`

const secretEnv = `        - name: PASSWORD
          valueFrom: {secretKeyRef: {name: NAME, key: password}}
`

const secretObject = `apiVersion: v1
kind: Secret
metadata:
  name: %s
type: Opaque
stringData:
  password: ${password}
`
