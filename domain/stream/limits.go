package stream

import "berth/domain/fault"

// Limits is how much a tenant may keep, in bytes. Nothing is removed to make room: what does not fit is refused.
type Limits struct {
	Tenant     int64 // messages and attachments together
	Attachment int64 // one attachment
}

// DefaultLimits are those of a node that is told no others.
func DefaultLimits() Limits { return Limits{Tenant: 1 << 30, Attachment: 64 << 20} }

// overhead is what a message takes beside its texts, by the quota's count, and block what an attachment takes beside its
// content: a file's last block and its entry.
const (
	overhead = 64
	block    = 4096
)

// MaxUploads is how many uploads of a principal are kept that are not whole: of more, the one that nobody went on with for
// longest gives way.
const MaxUploads = 16

// Cost is what a message counts for in the quota, by the lengths of what it consists of.
func Cost(route, principal, id string, body []byte) int64 {
	return int64(overhead + len(route) + len(principal) + 2*len(id) + len(body))
}

// AttachmentCost is what an attachment of so many bytes counts for in the quota.
func AttachmentCost(size int64) int64 { return size + block }

// Admits accepts more bytes beside those that are used, if both fit. Fault: Exhausted tenant_quota_exceeded.
func (l Limits) Admits(used, more int64) *fault.Error {
	if more <= l.Tenant-used {
		return nil
	}
	return fault.New(fault.Exhausted, "tenant_quota_exceeded", "the tenant's %d bytes are used up", l.Tenant).
		Curable("let an operator raise the node's quota per tenant")
}

// Upload is a part of an attachment as it is announced: Length bytes from Offset on, of Size in all.
type Upload struct {
	Offset, Length, Size int64
}

// Whole says whether nothing is missing after the part.
func (u Upload) Whole() bool { return u.Offset+u.Length == u.Size }

// Judge accepts a part that begins where the last one ended, have bytes after the beginning, or anew from 0.
// Faults: Invalid attachment_size_differs, attachment_too_large; Conflict upload_offset.
func (l Limits) Judge(u Upload, have int64) *fault.Error {
	switch {
	case u.Size < 0 || u.Offset < 0 || u.Length < 0 || u.Offset > u.Size || u.Length > u.Size-u.Offset:
		return fault.New(fault.Invalid, "attachment_size_differs", "the part does not lie within the attachment's size")
	case u.Size > l.Attachment:
		return fault.New(fault.Invalid, "attachment_too_large", "an attachment is at most %d bytes", l.Attachment)
	case u.Offset != 0 && u.Offset != have:
		return fault.New(fault.Conflict, "upload_offset", "%d bytes of the attachment are there", have).
			Curable("go on with the part that begins there, or begin anew")
	}
	return nil
}

// CutShort is the refusal of a part that ended before its length was reached. What came of it stays.
func CutShort(u Upload, came int64) *fault.Error {
	return fault.New(fault.Invalid, "attachment_size_differs", "the part was to be %d bytes, and %d came", u.Length, came)
}

// DigestDiffers is the refusal of content that is not what it was announced as. Nothing is left of it.
func DigestDiffers() *fault.Error {
	return fault.New(fault.Invalid, "attachment_digest_differs", "the content's SHA-256 is not the one of its address")
}
