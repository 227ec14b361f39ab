package connectclient

import "berth/domain/fault"

// kinds are those of the refusals that a device does something about; every other one is Invalid.
var kinds = map[string]fault.Kind{ //nolint:gochecknoglobals // an immutable table
	"revoke_not_allowed": fault.Forbidden, "handle_refused": fault.Forbidden, "principal_not_found": fault.NotFound,
	"route_not_found": fault.NotFound, "not_subscribed": fault.NotFound, "last_owner": fault.Conflict, "publish_id_reused": fault.Conflict,
	"tenant_quota_exceeded": fault.Exhausted, "disk_full": fault.Exhausted, "route_exhausted": fault.Exhausted,
	"too_many_subscriptions": fault.Exhausted, "rate_limited": fault.Exhausted, "publishes_in_flight": fault.Exhausted,
	"engine_busy": fault.Exhausted, "copy_fenced": fault.Unavailable, "frame_too_slow": fault.Unavailable, "internal": fault.Internal,
}
