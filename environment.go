package petcat

// Environment is what a deployment is for. A deployment belongs to one environment, and so
// do its keys: a key of one environment is unknown in the other.
type Environment string

// The environments.
const (
	Production Environment = "production"
	Staging    Environment = "staging"
)

// ParseEnvironment returns an [Error] with [CodeInvalidField] for a name that
// is not an environment's.
func ParseEnvironment(s string) (Environment, error) {
	switch e := Environment(s); e {
	case Production, Staging:
		return e, nil
	default:
		return "", Errorf(CodeInvalidField, "the environment must be production or staging (got %q)", s)
	}
}

// keyPrefix returns how the environment's keys begin.
func (e Environment) keyPrefix() string {
	if e == Staging {
		return "pck_test_"
	}
	return "pck_live_"
}

// other returns the environment that e is not.
func (e Environment) other() Environment {
	if e == Staging {
		return Production
	}
	return Staging
}
