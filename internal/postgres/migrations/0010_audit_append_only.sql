-- +goose Up
-- Audit entries are only appended. The owner of the table can drop the trigger, a role
-- with fewer rights cannot. The chain of hashes shows the rest.
SET LOCAL lock_timeout = '100ms';
-- +goose StatementBegin
CREATE FUNCTION audit_is_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	RAISE EXCEPTION 'audit entries are never changed or deleted';
END $$;
-- +goose StatementEnd
CREATE TRIGGER audit_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON audit
	FOR EACH STATEMENT EXECUTE FUNCTION audit_is_append_only();
