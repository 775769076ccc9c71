package pgtest

import (
	"fmt"
	"os"
	osuser "os/user"
	"strconv"
)

// owner is the user of the machine whom the server runs as.
type owner struct {
	change   bool // nobody in particular: whoever runs the test
	uid, gid uint32
}

// newOwner chooses a user: the one of the test, unless that is root.
func newOwner() (*owner, error) {
	if os.Getuid() != 0 {
		return &owner{}, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := osuser.Lookup(name)
		if err != nil {
			continue
		}
		uid, err1 := strconv.ParseUint(u.Uid, 10, 32)
		gid, err2 := strconv.ParseUint(u.Gid, 10, 32)
		if err1 == nil && err2 == nil {
			return &owner{change: true, uid: uint32(uid), gid: uint32(gid)}, nil
		}
	}
	return nil, fmt.Errorf("pgtest: PostgreSQL does not run as root, and there is neither a user postgres nor nobody")
}

func (o *owner) give(dir string) error {
	if !o.change {
		return nil
	}
	return os.Chown(dir, int(o.uid), int(o.gid))
}
