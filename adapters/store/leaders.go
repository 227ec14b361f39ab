package store

import (
	"github.com/uptrace/bun"

	"berth/domain/leadership"
)

type leaderRow struct {
	bun.BaseModel `bun:"table:duty_leaders,alias:d"`

	Duty   string `bun:"duty,pk"`
	Holder string `bun:"holder"`
	Number int64  `bun:"term"`
	Beat   int64  `bun:"beat"`
}

func leaderTable() table[*leadership.Term, leaderRow] {
	return table[*leadership.Term, leaderRow]{
		thing: "leader", key: "duty",
		row: always(func(v *leadership.Term) leaderRow {
			r := v.Record()
			return leaderRow{Duty: r.Duty, Holder: r.Holder, Number: r.Number, Beat: r.Beat}
		}),
		value: always(func(r leaderRow) *leadership.Term {
			return leadership.Restore(leadership.Record{Duty: r.Duty, Holder: r.Holder, Number: r.Number, Beat: r.Beat})
		}),
	}
}
