package dev

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"

	"berth/adapters/apiclient"
)

// A run that was stopped when it had made the license, and nothing on it, is completed by the next one.
func TestSeedingGoesOnWhereItStopped(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var asked []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		asked = append(asked, r.Method+" "+r.URL.Path)
		mu.Unlock()
		w.Header().Set("Content-Type", "application/json")
		body := `{"id":"lic_1"}`
		if r.Method+" "+r.URL.Path == "GET /api/v1/licenses" {
			body = `{"licenses":[{"id":"lic_1"}]}`
		}
		_, _ = w.Write([]byte(body))
	}))
	defer server.Close()
	client, err := apiclient.New(apiclient.Options{Base: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	r := &running{place: &place{dir: t.TempDir()}}
	s := &seeds{client: client, api: apiclient.NewOperator(client)}
	license, err := r.seedLicense(t.Context(), s)
	if err == nil {
		err = r.seedDeployment(t.Context(), s, license)
	}
	if err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	defer mu.Unlock()
	apps, deployment := slices.Index(asked, "PUT /api/v1/licenses/lic_1/apps"), slices.Index(asked, "POST /api/v1/deployments")
	if apps < 0 || deployment < apps {
		t.Errorf("it asked %q", asked)
	}
}
