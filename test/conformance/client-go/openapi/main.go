// Reads the OpenAPI documents of a server with kube-openapi's types, writes them again, and prints as one JSON object what got lost:
// by document, the places at which what was written differs from what was read.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"reflect"
	"sort"

	openapi_v2 "github.com/google/gnostic-models/openapiv2"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/openapi3"
	"k8s.io/client-go/rest"
	"k8s.io/kube-openapi/pkg/spec3"
	"k8s.io/kube-openapi/pkg/util/proto"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

type report struct {
	// The places that changed, by document.
	Lost map[string][]string `json:"lost"`
	// The documents whose second reading is not what the first one was.
	Unstable []string `json:"unstable"`
	// The models of the protobuf form of OpenAPI v2, as kubectl before 1.27 reads them.
	Models []string `json:"models"`
}

func main() {
	server := flag.String("server", "", "https://HOST:PORT")
	ca := flag.String("ca", "", "file with the server's CA")
	flag.Parse()
	config := &rest.Config{
		Host:            *server,
		BearerToken:     os.Getenv("TOKEN"),
		TLSClientConfig: rest.TLSClientConfig{CAFile: *ca},
	}
	found := &report{Lost: map[string][]string{}}
	if err := check(config, found); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	_ = json.NewEncoder(os.Stdout).Encode(found)
}

func check(config *rest.Config, found *report) error {
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return err
	}
	root := openapi3.NewRoot(client.OpenAPIV3())
	versions, err := root.GroupVersions()
	if err != nil {
		return err
	}
	paths, err := client.OpenAPIV3().Paths()
	if err != nil {
		return err
	}
	for _, version := range versions {
		if _, err := root.GVSpec(version); err != nil {
			return fmt.Errorf("%s: %w", version, err)
		}
	}
	for path, document := range paths {
		text, err := document.Schema(runtime.ContentTypeJSON)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		if err := roundTrip(path, text, &spec3.OpenAPI{}, &spec3.OpenAPI{}, found); err != nil {
			return err
		}
	}
	return checkV2(client, found)
}

func checkV2(client *discovery.DiscoveryClient, found *report) error {
	text, err := client.RESTClient().Get().AbsPath("/openapi/v2").SetHeader("Accept", "application/json").DoRaw(context.Background())
	if err != nil {
		return err
	}
	if err := roundTrip("v2", text, &spec.Swagger{}, &spec.Swagger{}, found); err != nil {
		return err
	}
	document, err := client.OpenAPISchema()
	if err != nil {
		return fmt.Errorf("v2 as protobuf: %w", err)
	}
	if parsed, err := openapi_v2.ParseDocument(text); err != nil {
		return fmt.Errorf("v2 as gnostic reads its JSON: %w", err)
	} else if len(parsed.Definitions.AdditionalProperties) != len(document.Definitions.AdditionalProperties) {
		return fmt.Errorf("v2 has other definitions in protobuf than in JSON")
	}
	models, err := proto.NewOpenAPIData(document)
	if err != nil {
		return fmt.Errorf("v2 as models: %w", err)
	}
	found.Models = models.ListModels()
	sort.Strings(found.Models)
	return nil
}

// The first two readings must be equal, and what is written what was read.
func roundTrip(name string, text []byte, first, second any, found *report) error {
	if err := json.Unmarshal(text, first); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	written, err := json.Marshal(first)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if err := json.Unmarshal(written, second); err != nil {
		return fmt.Errorf("%s, written again: %w", name, err)
	}
	if !reflect.DeepEqual(first, second) {
		found.Unstable = append(found.Unstable, name)
	}
	var before, after any
	if err := json.Unmarshal(text, &before); err != nil {
		return err
	}
	if err := json.Unmarshal(written, &after); err != nil {
		return err
	}
	places := differences("", before, after)
	sort.Strings(places)
	found.Lost[name] = places
	return nil
}

func differences(place string, before, after any) []string {
	switch left := before.(type) {
	case map[string]any:
		right, ok := after.(map[string]any)
		if !ok {
			return []string{place}
		}
		places := []string{}
		for key, member := range left {
			if other, ok := right[key]; ok {
				places = append(places, differences(place+"/"+key, member, other)...)
			} else {
				places = append(places, place+"/"+key)
			}
		}
		for key := range right {
			if _, ok := left[key]; !ok {
				places = append(places, place+"/"+key+" (new)")
			}
		}
		return places
	case []any:
		right, ok := after.([]any)
		if !ok || len(left) != len(right) {
			return []string{place}
		}
		places := []string{}
		for index, item := range left {
			places = append(places, differences(fmt.Sprintf("%s/%d", place, index), item, right[index])...)
		}
		return places
	}
	if reflect.DeepEqual(before, after) {
		return nil
	}
	return []string{place}
}
