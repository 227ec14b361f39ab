-- readable from version 1
-- Programs of version 1 write neither column, and have no use for what they say.

ALTER TABLE relay_signing_keys ADD COLUMN certificate BYTEA; -- DER, of a CA key only
ALTER TABLE one_time_secrets ADD COLUMN used_by BYTEA; -- SHA-256 of a public key's SPKI
