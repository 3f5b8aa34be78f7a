package linearizability

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
)

// One history may take so long; those of the gate take milliseconds.
const patience = 2 * time.Minute

func check(h History) porcupine.CheckResult {
	return porcupine.CheckOperationsTimeout(h.Model(), h.Operations(), patience)
}

// files are the histories that HISTORIES names, else those that are kept here.
func files(t *testing.T) []string {
	directory := os.Getenv("HISTORIES")
	if directory == "" {
		directory = "testdata"
	}
	paths, err := filepath.Glob(filepath.Join(directory, "*.json"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no histories in %s: %v", directory, err)
	}
	return paths
}

func TestHistoriesAreLinearizable(t *testing.T) {
	for _, path := range files(t) {
		histories, err := Read(path)
		if err != nil || len(histories) == 0 {
			t.Fatalf("%s: %v", path, err)
		}
		for key, history := range histories {
			if result := check(history); result != porcupine.Ok {
				t.Errorf("%s: the %d calls of %s: %s", path, len(history.Calls), key, result)
			}
		}
	}
}
