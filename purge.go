package petcat

// Purge is the deletion of the categories, pets and orders that an account had created when the purge
// began. What it creates later stays.
type Purge struct {
	Account AccountID
	// Categories, Pets and Orders are how many there were when the purge began.
	Categories, Pets, Orders int64
}
