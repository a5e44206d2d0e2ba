// The parts of Argo CD that these tests run, each by the name of its program as in Argo CD's own main, which also has the web
// server, the notifications and the command line: three hundred packages more.
package main

import (
	"os"

	"github.com/spf13/cobra"
	"k8s.io/klog/v2"

	applications "github.com/argoproj/argo-cd/v3/cmd/argocd-application-controller/commands"
	repositories "github.com/argoproj/argo-cd/v3/cmd/argocd-repo-server/commands"
	"github.com/argoproj/argo-cd/v3/util/log"
)

func main() {
	klog.SetLogger(log.NewLogrusLogger(log.NewWithCurrentConfig()))
	commands := map[string]func() *cobra.Command{
		"argocd-application-controller": applications.NewCommand,
		"argocd-repo-server":            repositories.NewCommand,
	}
	if err := commands[os.Getenv("ARGOCD_BINARY_NAME")]().Execute(); err != nil {
		os.Exit(1)
	}
}
