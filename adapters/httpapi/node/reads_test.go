package node

import (
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"

	"berth/adapters/contract"
	"berth/adapters/httpapi"
)

// What the contract says changes nothing, by which an ingress breaks a request off and a node asks again, is exactly what
// spends no nonce here.
func TestReadsAsTheContractSays(t *testing.T) {
	t.Parallel()
	api := Mount(httpapi.NewEngine(httpapi.EngineOptions{}), Deps{})
	seen := 0
	for path, item := range api.OpenAPI().Paths {
		for _, o := range []*huma.Operation{item.Get, item.Head, item.Post, item.Put, item.Patch, item.Delete} {
			if o == nil {
				continue
			}
			seen++
			reads, told := o.Metadata[metaReads].(bool)
			target := strings.NewReplacer("{", "", "}", "").Replace(path)
			if !told || reads != contract.Reads(o.Method, target) {
				t.Errorf("%s %s: reads %v (told %v), by the contract %v", o.Method, path, reads, told, !reads)
			}
		}
	}
	if seen < 10 {
		t.Errorf("only %d operations were compared", seen)
	}
}
