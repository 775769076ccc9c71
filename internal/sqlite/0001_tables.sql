PRAGMA application_id = 1885561204; -- "pcat"

-- Audit entries are only appended. Who owns the file can drop these triggers: they stop
-- mistakes, and the chain of hashes shows the rest.
CREATE TRIGGER audit_not_updated BEFORE UPDATE ON audit
BEGIN
	SELECT RAISE(ABORT, 'audit entries are never changed');
END;
CREATE TRIGGER audit_not_deleted BEFORE DELETE ON audit
BEGIN
	SELECT RAISE(ABORT, 'audit entries are never deleted');
END;
