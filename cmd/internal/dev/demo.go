package dev

import "berth/adapters/contract"

// demoApp is an app of the demonstration.
type demoApp struct {
	id, name string
	versions []string
	needs    string // another app; empty: none
}

// demoApps are two apps, of which one needs the other, and has a version to upgrade to.
func demoApps() []demoApp {
	return []demoApp{
		{id: "base", name: "Base", versions: []string{"1.0.0"}},
		{id: "shop", name: "Shop", versions: []string{"1.0.0", "1.1.0"}, needs: "base"},
	}
}

// release is a version of the app.
func (a demoApp) release(version, image string) contract.NewRelease {
	out := contract.NewRelease{
		Version:    version,
		Source:     contract.Source{Kind: "manifests", Files: map[string]string{a.id + ".yaml": a.manifest(image)}},
		Parameters: []contract.Parameter{{Name: "replicas", Type: "int", Default: 1, CustomerSettable: true}},
	}
	if a.needs != "" {
		out.Requires = []contract.Requirement{{App: a.needs, Versions: ">=1.0.0 <2.0.0"}}
	}
	return out
}

// manifest is what an app runs: one Deployment that meets the restricted Pod Security profile, and its Service.
func (a demoApp) manifest(image string) string {
	return `apiVersion: apps/v1
kind: Deployment
metadata:
  name: ` + a.id + `
spec:
  replicas: ${replicas}
  selector: {matchLabels: {app: ` + a.id + `}}
  template:
    metadata: {labels: {app: ` + a.id + `}}
    spec:
      automountServiceAccountToken: false
      securityContext: {runAsNonRoot: true, runAsUser: 65532, seccompProfile: {type: RuntimeDefault}}
      containers:
        - name: ` + a.id + `
          image: ` + image + `
          ports: [{containerPort: 8080}]
          resources: {requests: {cpu: 100m, memory: 64Mi}, limits: {memory: 128Mi}}
          securityContext: {allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: {drop: [ALL]}}
---
apiVersion: v1
kind: Service
metadata:
  name: ` + a.id + `
spec:
  selector: {app: ` + a.id + `}
  ports: [{port: 80, targetPort: 8080}]
`
}
