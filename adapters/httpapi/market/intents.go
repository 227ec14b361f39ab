package market

import (
	"context"
	"time"

	"berth/adapters/contract"
	"berth/adapters/httpapi"
	"berth/application/market"
	"berth/domain/delivery"
)

// AppPath is the app in a path.
type AppPath struct {
	App string `path:"app" maxLength:"63"`
}

type intentOut struct{ Body contract.Intent }

type submitIn struct {
	AppPath
	Body contract.NewIntent
}

func (d Deps) submit(ctx context.Context, in *submitIn) (*intentOut, error) {
	parameters, sealed, err := httpapi.Parameters(in.Body.Parameters)
	if err != nil {
		return nil, err
	}
	return intent(d.Market.SubmitIntent(ctx, market.SubmitRequest{Caller: requestOf(ctx).caller, Sealed: sealed, Asked: delivery.Asked{
		App: in.App, Action: delivery.Action(in.Body.Action), Version: in.Body.Version, Parameters: parameters,
	}}))
}

type intentIn struct {
	Intent string `path:"intent" maxLength:"64"`
	Wait   string `query:"wait" maxLength:"8" doc:"How long to wait for a change, e.g. 30s; at most 30s"`
}

func (d Deps) intent(ctx context.Context, in *intentIn) (*intentOut, error) {
	wait, err := httpapi.Wait(in.Wait)
	if err != nil {
		return nil, err
	}
	bounded, stop := httpapi.Waiting(ctx, wait+time.Second)
	defer stop()
	v, err := d.Market.Intent(bounded, market.IntentRequest{Caller: requestOf(ctx).caller, ID: in.Intent, Wait: wait, Still: d.still})
	if wait > 0 && err == nil {
		err = d.still(ctx)
	}
	return intent(v, err)
}

func intent(v delivery.IntentRecord, err error) (*intentOut, error) {
	if err != nil {
		return nil, err
	}
	return &intentOut{contract.Intent{
		ID: v.ID, App: v.App, Action: string(v.Action), Version: v.Version, From: v.From, State: string(v.State), Revision: v.Revision,
		Waived: v.Waived, Detail: v.Detail, CreatedAt: v.CreatedAt, ChangedAt: v.ChangedAt, EndedAt: moment(v.EndedAt),
	}}, nil
}

func moment(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}
