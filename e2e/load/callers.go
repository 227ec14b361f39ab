package load

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"berth/adapters/contract"
)

// Beats are a node's heartbeats.
func Beats(c *Conn, n *Node) Caller {
	return func() (time.Duration, error) {
		request, err := n.Beat()
		if err != nil {
			return 0, err
		}
		a, err := c.Must(request, 200)
		return a.Took, err
	}
}

// Polls are a node's batched polls, about which nothing changed.
func Polls(c *Conn, n *Node, known []contract.Known) Caller {
	body, err := PollBody(known)
	return func() (time.Duration, error) {
		if err != nil {
			return 0, err
		}
		return PollOf(c, n, body)
	}
}

// PollBody is the body of a poll that does not wait.
func PollBody(known []contract.Known) ([]byte, error) {
	return json.Marshal(contract.Poll{Tenants: known})
}

// PollOf sends one poll, about which nothing changed.
func PollOf(c *Conn, n *Node, body []byte) (time.Duration, error) {
	request, err := n.Request("POST", "/nodes/"+n.ID+"/authorization/poll", body)
	if err != nil {
		return 0, err
	}
	a, err := c.Must(request, 200)
	if err == nil && !a.holds(`"tenants":[]`) {
		err = fmt.Errorf("something changed: %s", a.Body)
	}
	return a.Took, err
}

// Snapshots are those of the tenants that next names, by the node that holds them.
func Snapshots(c *Conn, n *Node, next func() string) Caller {
	return func() (time.Duration, error) {
		request, err := n.Request("GET", "/tenants/"+next()+"/authorization?generation=1", nil)
		if err != nil {
			return 0, err
		}
		a, err := c.Must(request, 200)
		return a.Took, err
	}
}

// Gets are an operator's readings of the paths that next names.
func (r *Rig) Gets(c *Conn, next func() string) Caller {
	return func() (time.Duration, error) {
		a, err := c.Must(r.Ask("GET", next(), nil), 200)
		return a.Took, err
	}
}

// Creates make tenants, which are placed at once.
func (r *Rig) Creates(c *Conn, region string, next func() string) Caller {
	return func() (time.Duration, error) {
		a, err := c.Must(r.Ask("POST", "/api/v1/tenants", contract.NewTenant{ID: next(), HomeRegion: region}), 201)
		if err == nil && a.holds(`"placement":null`) {
			err = errors.New("a tenant was not placed")
		}
		return a.Took, err
	}
}

// Moves begin a migration and abort it. The time is that of both.
func (r *Rig) Moves(c *Conn, next func() (tenant, target string)) Caller {
	return func() (time.Duration, error) {
		tenant, target := next()
		path := "/api/v1/tenants/" + tenant + "/migrations"
		begun, err := c.Must(r.Ask("POST", path, contract.NewMigration{TargetNode: target}), 202)
		if err != nil {
			return 0, err
		}
		m, err := Decode[contract.Migration](begun)
		if err != nil {
			return 0, err
		}
		ended, err := c.Must(r.Ask("POST", path+"/"+m.ID+"/abort", nil), 200)
		return begun.Took + ended.Took, err
	}
}
