package petcat

// ChangePosition is the position of a reader in the changes of all categories.
type ChangePosition struct {
	// After is the last revision that the reader has; 0 for a new reader.
	After Revision
	// Begun is the newest revision when the reader started. It does not need deletions up to that revision.
	Begun Revision
}

// ChangeQuery asks for the next changes of a reader.
type ChangeQuery struct {
	ChangePosition

	// Listed is the revision of the client's list. The changes up to it come without
	// the texts of their categories.
	Listed Revision
	Limit  int
}

// CheckKept returns an [Error] with [CodeCursorExpired] if a store lacks deletions that a reader needs,
// or revisions that it has. newest is the newest revision of a category in the store, removed that of
// a deletion that it does not keep any more.
func (p ChangePosition) CheckKept(newest, removed Revision) error {
	known := max(p.After, p.Begun)
	if known < removed || known > newest {
		return CursorExpired()
	}
	return nil
}

// CursorExpired returns the error for a reader that must restart from the list.
func CursorExpired() *Error {
	return Errorf(CodeCursorExpired,
		"the cursor is too old, or belongs to other data; drop your copy and read all changes, without after")
}
