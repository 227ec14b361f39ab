package relayd

import (
	"berth/adapters/connect"
	"berth/adapters/peering"
	"berth/cmd/internal/settings"
)

// Limits bound what devices can make the node hold and do.
func (c Config) Limits() connect.Limits {
	l := connect.DefaultLimits()
	l.Connections, l.ConnectionsPerAddress, l.ConnectionsPerPrincipal = c.MaxConnections, c.ConnectionsPerAddress, c.ConnectionsPerPrincipal
	l.AcceptRate, l.AcceptBurst = float64(c.AcceptRate), max(c.AcceptRate/2, 1)
	l.Attachment = int64(c.MaxAttachmentBytes)
	return l
}

// PeerLimits bound what peers can.
func (c Config) PeerLimits() peering.Limits {
	l := peering.DefaultLimits()
	l.Connections, l.Body = c.MaxConnections, int64(c.MaxAttachmentBytes)
	return l
}

const (
	leastQuota = 1 << 20
	mostQuota  = 1 << 50
)

// judgeDevices judges what the node itself has no say in.
func (c Config) judgeDevices(f *settings.Findings) {
	f.Between("connections_per_address", c.ConnectionsPerAddress, 1, 10_000_000)
	f.Between("accept_rate", c.AcceptRate, 1, 100_000)
	f.Between("max_attachment_bytes", c.MaxAttachmentBytes, 1, mostQuota)
	if c.MaxAttachmentBytes > c.TenantQuotaBytes {
		f.Add("max_attachment_bytes", "is more than a tenant may take by tenant_quota_bytes", "lower it, or raise tenant_quota_bytes")
	}
	f.Between("tenant_quota_bytes", c.TenantQuotaBytes, leastQuota, mostQuota)
}
