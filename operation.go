package petcat

import "time"

// Stability is the stability level of an operation.
type Stability string

// The stability levels. An operation is deprecated at least for the notice before its sunset.
const (
	Stable       Stability = "stable"       // 180 days' notice
	Beta         Stability = "beta"         // 30 days' notice
	Experimental Stability = "experimental" // no notice
)

// OperationID is the operationId in the OpenAPI document.
type OperationID string

// The operations.
const (
	OpListCategories  OperationID = "listCategories"
	OpCreateCategory  OperationID = "createCategory"
	OpGetCategory     OperationID = "getCategory"
	OpUpdateCategory  OperationID = "updateCategory"
	OpDeleteCategory  OperationID = "deleteCategory"
	OpListChanges     OperationID = "listCategoryChanges"
	OpGetUsage        OperationID = "getUsage"
	OpGetUsageHistory OperationID = "getUsageHistory"
	OpGetKey          OperationID = "getKey"
	OpRotateKey       OperationID = "rotateKey"
	OpRevokeKey       OperationID = "revokeKey"
	OpListPets        OperationID = "listPets"
	OpCreatePet       OperationID = "createPet"
	OpGetPetByID      OperationID = "getPetById"
	OpDeletePet       OperationID = "deletePet"
	OpListOrders      OperationID = "listOrders"
	OpCreateOrder     OperationID = "createOrder"
)

// Operation is one entry of the registry.
type Operation struct {
	ID           OperationID
	Method       string
	Path         string // below the base address, such as /categories; its last segment may be a parameter
	Stability    Stability
	Query        []string  // its query parameters; others are ignored
	Free         bool      // its requests are not charged, and banned keys may call it
	Own          bool      // it concerns only the key that is used, so read-only keys may use it
	DeprecatedAt time.Time // zero: not deprecated
	SunsetAt     time.Time // zero: not planned; else 00:00 UTC of a day, at least the notice after DeprecatedAt
}

// Deprecated reports whether the operation is announced as deprecated, even if
// DeprecatedAt is in the future.
func (o Operation) Deprecated() bool { return !o.DeprecatedAt.IsZero() }

// Sunset reports whether the operation's sunset has passed at now.
func (o Operation) Sunset(now time.Time) bool {
	return !o.SunsetAt.IsZero() && !now.Before(o.SunsetAt)
}

// Writes reports whether the operation changes something, so that a read-only key may not use
// it: operations other than GET do, except those on the key itself.
func (o Operation) Writes() bool { return o.Method != "GET" && !o.Own }

// Operations returns the registry of all operations of the API. It drives the routes, the
// headers about stability, and the checks of the OpenAPI document.
func Operations() []Operation {
	return []Operation{
		{
			ID:        OpListCategories,
			Method:    "GET",
			Path:      "/categories",
			Stability: Stable,
			Query:     []string{"limit", "after", "name", "owner"},
		},
		{ID: OpCreateCategory, Method: "POST", Path: "/categories", Stability: Stable},
		{ID: OpGetCategory, Method: "GET", Path: "/categories/{categoryId}", Stability: Beta},
		{ID: OpUpdateCategory, Method: "PATCH", Path: "/categories/{categoryId}", Stability: Beta},
		{ID: OpDeleteCategory, Method: "DELETE", Path: "/categories/{categoryId}", Stability: Beta},
		{
			ID:        OpListChanges,
			Method:    "GET",
			Path:      "/categories/changes",
			Stability: Beta,
			Query:     []string{"limit", "after"},
		},
		{ID: OpGetUsage, Method: "GET", Path: "/usage", Stability: Beta, Free: true},
		{
			ID:        OpGetUsageHistory,
			Method:    "GET",
			Path:      "/usage/history",
			Stability: Beta,
			Query:     []string{"by", "from", "to", "group"},
			Free:      true,
		},
		{
			ID:        OpListPets,
			Method:    "GET",
			Path:      "/pets",
			Stability: Experimental,
			Query:     []string{"category_id", "limit", "after"},
		},
		{ID: OpCreatePet, Method: "POST", Path: "/pets", Stability: Experimental},
		{
			ID: OpGetPetByID, Method: "GET", Path: "/pets/{petId}", Stability: Experimental,
			DeprecatedAt: time.Date(2026, time.November, 22, 0, 0, 0, 0, time.UTC),
			SunsetAt:     time.Date(2027, time.November, 30, 0, 0, 0, 0, time.UTC),
		},
		{ID: OpDeletePet, Method: "DELETE", Path: "/pets/{petId}", Stability: Experimental},
		{
			ID:        OpListOrders,
			Method:    "GET",
			Path:      "/store/orders",
			Stability: Experimental,
			Query:     []string{"limit", "after"},
		},
		{ID: OpCreateOrder, Method: "POST", Path: "/store/orders", Stability: Experimental},
		{ID: OpGetKey, Method: "GET", Path: "/key", Stability: Beta, Free: true, Own: true},
		{ID: OpRotateKey, Method: "POST", Path: "/key/rotate", Stability: Beta, Own: true},
		{ID: OpRevokeKey, Method: "POST", Path: "/key/revoke", Stability: Beta, Own: true},
	}
}
