PRAGMA application_id = 1885561204; -- "pcat"

-- Audit entries are only appended. The owner of the file can drop the triggers; the chain of hashes
-- shows the change.
CREATE TRIGGER audit_not_updated BEFORE UPDATE ON audit
BEGIN
	SELECT RAISE(ABORT, 'audit entries are never changed');
END;
CREATE TRIGGER audit_not_deleted BEFORE DELETE ON audit
BEGIN
	SELECT RAISE(ABORT, 'audit entries are never deleted');
END;
