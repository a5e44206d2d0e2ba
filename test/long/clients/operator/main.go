// An operator as most are: controller-runtime's manager with leader election and a cached client; and a client of client-go
// that tries what such programs use of an API server, in protobuf and in JSON.
package main

import (
	"fmt"
	"os"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

func main() {
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		fail(err)
	}
	config.QPS, config.Burst = 200, 400
	run := map[string]func(*rest.Config) error{"manager": manage, "clients": tryClients}[os.Args[1]]
	if err := run(config); err != nil {
		fail(err)
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}
