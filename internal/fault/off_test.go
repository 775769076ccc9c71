//go:build !faults

package fault

import "testing"

func TestHitDoesNothingInAReleasedProgram(t *testing.T) {
	for _, point := range Points() {
		t.Setenv(Variable, string(point)+"=error")
		if err := Hit(point); err != nil {
			t.Errorf("Hit(%s) = %v without the build tag faults", point, err)
		}
	}
}
