-- Whether a header secret may be sent to targets of http.
ALTER TABLE header_secrets ADD COLUMN http boolean NOT NULL DEFAULT false;
