package licensing

import (
	"fmt"
	"strings"
	"time"

	"berth/domain/entitlement"
	"berth/domain/quantity"
)

// terms are a license's, as the audit log names them.
func terms(r entitlement.LicenseRecord) map[string]string {
	return map[string]string{
		"status": string(r.Status), "enforce": string(r.Enforcement), "expires_at": r.ExpiresAt.Format(time.RFC3339Nano),
		"grace": r.Grace.String(), "quota.apps": number(r.Quota.Apps), "quota.replicas": number(r.Quota.Replicas),
		"quota.cpu": quantity.FormatMilliCPU(r.Quota.MilliCPU), "quota.memory": quantity.FormatBytes(r.Quota.MemoryBytes),
	}
}

func createdDetail(r entitlement.LicenseRecord) map[string]string {
	detail := terms(r)
	detail["customer"], detail["environment"], detail["revision"] = r.Customer, string(r.Environment), number(r.Revision)
	return detail
}

// changedDetail names what differs, before and after. A key is not named: that it changed is what the action says.
func changedDetail(before, after entitlement.LicenseRecord) map[string]string {
	detail := map[string]string{"revision": number(after.Revision)}
	was := terms(before)
	for name, is := range terms(after) {
		if was[name] != is {
			detail["before."+name], detail["after."+name] = was[name], is
		}
	}
	return detail
}

// appsInNote is how many apps one entry names; a longer change makes several.
const appsInNote = 20

// appDetails names what became of each app, before and after, in as many details as entries are needed.
func appDetails(before map[string]entitlement.Entitlement, rows []entitlement.Entitlement, revision int64) []map[string]string {
	var out []map[string]string
	for i, row := range rows {
		if i%appsInNote == 0 {
			out = append(out, map[string]string{"revision": number(revision)})
		}
		was, known := before[row.App]
		is := entitlementText(row)
		text := row.App + ": none -> " + is
		if known {
			text = row.App + ": " + entitlementText(was) + " -> " + is
		}
		out[len(out)-1][fmt.Sprintf("app.%02d", i%appsInNote)] = text
	}
	return out
}

func entitlementText(e entitlement.Entitlement) string {
	if !e.WithdrawnAt.IsZero() {
		return "withdrawn"
	}
	words := []string{"entitled"}
	if e.Versions != "" {
		words = append(words, "to "+e.Versions)
	}
	if !e.ExpiresAt.IsZero() {
		words = append(words, "until "+e.ExpiresAt.Format(time.RFC3339Nano))
	}
	return strings.Join(words, " ")
}
