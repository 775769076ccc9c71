package petcat

// Environment is the purpose of a deployment. A deployment belongs to one environment, and so
// do its keys: a key of one environment is unknown in the other.
type Environment string

// The environments.
const (
	Production Environment = "production"
	Staging    Environment = "staging"
)

// keyPrefix returns the prefix of the environment's keys.
func (e Environment) keyPrefix() string {
	if e == Staging {
		return "pck_test_"
	}
	return "pck_live_"
}

// other returns the other environment.
func (e Environment) other() Environment {
	if e == Staging {
		return Production
	}
	return Staging
}
