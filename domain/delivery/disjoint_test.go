package delivery_test

import (
	"testing"
	"time"

	"berth/domain/delivery"
	"berth/domain/fault"
)

// Two apps of a deployment never have one object, also while one of them is being removed; an app keeps its own through an
// upgrade, and may have what another one gave up.
func TestAppsHaveTheirObjectsForThemselves(t *testing.T) {
	t.Parallel()
	having := func(name, version string, objects ...string) delivery.DesiredApp {
		app := anApp(name, version)
		app.Objects = objects
		return app
	}
	head := delivery.RestoreDesired(delivery.DesiredRecord{InstallID: "ins_1", Revision: 4, Proven: 4, Apps: []delivery.DesiredApp{
		having("base", "1.0.0", "Deployment/web", "Service/web"),
		func() delivery.DesiredApp { a := having("gone", "1.0.0", "Secret/old"); a.Removed = true; return a }(),
	}})
	for name, c := range map[string]struct {
		edit  delivery.Edit
		taken bool
	}{
		"another's":             {delivery.Edit{Put: []delivery.DesiredApp{having("shop", "1.0.0", "Service/shop", "Service/web")}}, true},
		"of one being removed":  {delivery.Edit{Put: []delivery.DesiredApp{having("shop", "1.0.0", "Secret/old")}}, true},
		"of each other":         {delivery.Edit{Put: []delivery.DesiredApp{having("a", "1.0.0", "Secret/x"), having("b", "1.0.0", "Secret/x")}}, true},
		"of what goes now":      {delivery.Edit{Put: []delivery.DesiredApp{having("shop", "1.0.0", "Service/web")}, Remove: []string{"base"}}, true},
		"its own":               {delivery.Edit{Put: []delivery.DesiredApp{having("base", "1.1.0", "Deployment/web", "Service/web")}}, false},
		"one of another kind":   {delivery.Edit{Put: []delivery.DesiredApp{having("shop", "1.0.0", "Secret/web")}}, false},
		"what was just forgone": {delivery.Edit{Put: []delivery.DesiredApp{having("shop", "1.0.0", "Secret/old")}, Forget: []string{"gone"}}, false},
	} {
		_, _, err := head.Apply(c.edit, time.Unix(1_700_000_000, 0))
		if (fault.SlugOf(err) == "object_taken") != c.taken || err != nil && !c.taken {
			t.Errorf("%s: %v", name, err)
		}
	}
}
