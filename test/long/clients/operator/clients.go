package main

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
)

const (
	protobufType = "application/vnd.kubernetes.protobuf"
	jsonType     = "application/json"
	space        = "clients"
)

// clients are those of one content type.
type clients struct {
	typed       kubernetes.Interface
	definitions apiextensions.Interface
}

type trial struct {
	ctx      context.Context
	protobuf clients
	json     clients
	dynamic  dynamic.Interface
	metadata metadata.Interface
	config   *rest.Config
}

// tryClients runs all trials, and prints a line for each: "ok NAME", or "FAILED NAME: why".
func tryClients(config *rest.Config) error {
	ctx, cancel := context.WithTimeout(context.Background(), 4*time.Minute)
	defer cancel()
	t := &trial{ctx: ctx, config: config, protobuf: clientsOf(config, protobufType), json: clientsOf(config, jsonType)}
	t.dynamic = dynamic.NewForConfigOrDie(config)
	t.metadata = metadata.NewForConfigOrDie(metadata.ConfigFor(config))
	namespace := &corev1.Namespace{}
	namespace.Name = space
	if _, err := t.protobuf.typed.CoreV1().Namespaces().Create(ctx, namespace, created); err != nil {
		return err
	}
	trials := []struct {
		name string
		run  func() error
	}{
		{"a definition as protobuf", t.definition},
		{"objects as protobuf and as JSON", t.objects},
		{"pages of a list", t.pages},
		{"a watch that begins with what is there", t.initialEvents},
		{"bookmarks", t.bookmarks},
		{"field selectors", t.fieldSelectors},
		{"metadata alone, as protobuf and as JSON", t.metadataAlone},
		{"informers of typed, dynamic and metadata clients", t.informers},
		{"apply, conflicts and forced apply", t.apply},
		{"errors of typed clients", t.failures},
		{"patches of each type", t.patches},
		{"dry runs, unknown fields and generated names", t.checks},
		{"what a manager lets go", t.owned},
		{"events of both groups", t.twoGroups},
		{"parts of a Pod", t.podParts},
		{"tokens and reviews", t.accounts},
		{"another user", t.impersonated},
		{"versions, status and scale of a definition", t.versions},
		{"deletes of one and of many", t.deletions},
		{"CBOR", t.cbor},
	}
	for _, each := range trials {
		if err := each.run(); err != nil {
			fmt.Printf("FAILED %s: %v\n", each.name, err)
		} else {
			fmt.Printf("ok %s\n", each.name)
		}
	}
	return nil
}

func clientsOf(config *rest.Config, contentType string) clients {
	own := rest.CopyConfig(config)
	own.ContentType, own.AcceptContentTypes = contentType, contentType
	if contentType == protobufType {
		// As kube-state-metrics and others say it.
		own.AcceptContentTypes = protobufType + "," + jsonType
	}
	return clients{kubernetes.NewForConfigOrDie(own), apiextensions.NewForConfigOrDie(own)}
}
