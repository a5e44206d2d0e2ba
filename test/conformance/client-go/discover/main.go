// Asks a server what it serves, as a client that takes the media type of its flag and no other, and prints what client-go made of
// the answers as one JSON object.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"os"
	"sync"

	apidiscovery "k8s.io/api/apidiscovery/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
)

// What discovery.DiscoveryClient and the aggregated document say. Resources have the names of their kinds.
type found struct {
	// Path and media type of each.
	Answers   []string                     `json:"answers"`
	Version   string                       `json:"version"`
	Groups    []string                     `json:"groups"`
	Resources map[string]map[string]string `json:"resources"`
	// What /api, /apis and /apis/apps are without aggregation, by path.
	Plain map[string]runtime.Object `json:"plain"`
	// By /api and /apis.
	Aggregated map[string][]apidiscovery.APIGroupDiscovery `json:"aggregated"`
}

func main() {
	server := flag.String("server", "", "https://HOST:PORT")
	ca := flag.String("ca", "", "file with the server's CA")
	accept := flag.String("accept", "application/vnd.kubernetes.protobuf", "the media type")
	flag.Parse()
	out := &found{
		Resources:  map[string]map[string]string{},
		Plain:      map[string]runtime.Object{},
		Aggregated: map[string][]apidiscovery.APIGroupDiscovery{},
	}
	config := &rest.Config{
		Host:            *server,
		BearerToken:     os.Getenv("TOKEN"),
		TLSClientConfig: rest.TLSClientConfig{CAFile: *ca},
		ContentConfig:   rest.ContentConfig{AcceptContentTypes: *accept, ContentType: *accept},
		WrapTransport:   func(next http.RoundTripper) http.RoundTripper { return types{next, out, &sync.Mutex{}} },
	}
	if err := ask(config, *accept, out); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	_ = json.NewEncoder(os.Stdout).Encode(out)
}

func ask(config *rest.Config, accept string, out *found) error {
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return err
	}
	client.UseLegacyDiscovery = true
	version, err := client.ServerVersion()
	if err != nil {
		return fmt.Errorf("version: %w", err)
	}
	out.Version = version.GitVersion
	groups, lists, err := client.ServerGroupsAndResources()
	if err != nil {
		return fmt.Errorf("groups and resources: %w", err)
	}
	for _, group := range groups {
		out.Groups = append(out.Groups, group.Name)
	}
	for _, list := range lists {
		kinds := map[string]string{}
		for _, resource := range list.APIResources {
			kinds[resource.Name] = resource.Kind
		}
		out.Resources[list.GroupVersion] = kinds
	}
	return askForAll(config, accept, out)
}

// client-go asks for these in JSON, whatever its configuration says; others do not.
func askForAll(config *rest.Config, accept string, out *found) error {
	types := runtime.NewScheme()
	metav1.AddToGroupVersion(types, schema.GroupVersion{Version: "v1"})
	if err := apidiscovery.AddToScheme(types); err != nil {
		return err
	}
	plain := map[string]runtime.Object{
		"/api": &metav1.APIVersions{}, "/apis": &metav1.APIGroupList{}, "/apis/apps": &metav1.APIGroup{},
	}
	for path, object := range plain {
		if err := read(config, types, accept, path, object); err != nil {
			return err
		}
		out.Plain[path] = object
	}
	for _, path := range []string{"/api", "/apis"} {
		list := &apidiscovery.APIGroupDiscoveryList{}
		aggregated := accept + ";g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
		if err := read(config, types, aggregated, path, list); err != nil {
			return err
		}
		out.Aggregated[path] = list.Items
	}
	return nil
}

func read(config *rest.Config, types *runtime.Scheme, accept, path string, into runtime.Object) error {
	own := rest.CopyConfig(config)
	own.GroupVersion = &schema.GroupVersion{Version: "v1"}
	own.NegotiatedSerializer = serializer.NewCodecFactory(types)
	own.ContentConfig.AcceptContentTypes = accept
	client, err := rest.UnversionedRESTClientFor(own)
	if err != nil {
		return err
	}
	if err := client.Get().AbsPath(path).Do(context.Background()).Into(into); err != nil {
		return fmt.Errorf("%s as %s: %w", path, accept, err)
	}
	return nil
}

// Notes the media types of the answers.
type types struct {
	next  http.RoundTripper
	out   *found
	mutex *sync.Mutex
}

func (types types) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := types.next.RoundTrip(request)
	if err == nil {
		types.mutex.Lock()
		defer types.mutex.Unlock()
		types.out.Answers = append(types.out.Answers, request.URL.Path+" "+response.Header.Get("Content-Type"))
	}
	return response, err
}
