package main

import (
	"errors"
	"fmt"
	"reflect"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	definitionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/watch"
	applycore "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	clientfeatures "k8s.io/client-go/features"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/retry"
	"k8s.io/utils/ptr"
)

var (
	created    = metav1.CreateOptions{FieldManager: "trial"}
	updated    = metav1.UpdateOptions{FieldManager: "trial"}
	configMaps = corev1.SchemeGroupVersion.WithResource("configmaps")
)

func (t *trial) definition() error {
	client := t.protobuf.definitions.ApiextensionsV1().CustomResourceDefinitions()
	events, err := client.Watch(t.ctx, metav1.ListOptions{FieldSelector: "metadata.name=boats.example.com"})
	if err != nil {
		return err
	}
	defer events.Stop()
	wanted := boatDefinition()
	made, err := client.Create(t.ctx, wanted, created)
	if err != nil {
		return err
	}
	if !equality.Semantic.DeepEqual(made.Spec.Versions, wanted.Spec.Versions) {
		return fmt.Errorf("the versions came back changed: %+v", made.Spec.Versions)
	}
	if err := t.sameDefinition(); err != nil {
		return err
	}
	column := definitionsv1.CustomResourceColumnDefinition{Name: "Crew", Type: "integer", JSONPath: ".spec.crew"}
	// The server writes conditions meanwhile.
	err = retry.RetryOnConflict(retry.DefaultRetry, func() error {
		if made, err = client.Get(t.ctx, made.Name, metav1.GetOptions{}); err != nil {
			return err
		}
		made.Spec.Versions[0].AdditionalPrinterColumns = append(made.Spec.Versions[0].AdditionalPrinterColumns, column)
		_, err = client.Update(t.ctx, made, updated)
		return err
	})
	if err != nil {
		return err
	}
	patch := []byte(`{"spec":{"names":{"shortNames":["bo"]}}}`)
	if _, err = client.Patch(t.ctx, made.Name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		return err
	}
	if err := t.sameDefinition(); err != nil {
		return err
	}
	list, err := client.List(t.ctx, metav1.ListOptions{})
	if err != nil || len(list.Items) != 1 {
		return fmt.Errorf("the list has %d definitions: %w", len(list.Items), err)
	}
	return untilEvent(events, func(event watch.Event) bool {
		seen, isDefinition := event.Object.(*definitionsv1.CustomResourceDefinition)
		return isDefinition && event.Type == watch.Modified && len(seen.Spec.Names.ShortNames) == 1
	})
}

// sameDefinition compares what the protobuf client and the JSON client get.
func (t *trial) sameDefinition() error {
	read := func(c clients) (any, error) {
		return c.definitions.ApiextensionsV1().CustomResourceDefinitions().Get(t.ctx, "boats.example.com", metav1.GetOptions{})
	}
	return t.same(read)
}

// same compares what the clients of both content types get. Others write the object meanwhile.
func (t *trial) same(read func(clients) (any, error)) error {
	compare := func() error {
		one, err := read(t.protobuf)
		if err != nil {
			return err
		}
		other, err := read(t.json)
		if err == nil && !equality.Semantic.DeepEqual(one, other) {
			return fmt.Errorf("protobuf and JSON differ: %+v and %+v", one, other)
		}
		return err
	}
	err := compare()
	for tries := 0; err != nil && tries < 5; tries++ {
		time.Sleep(300 * time.Millisecond)
		err = compare()
	}
	return err
}

func boatDefinition() *definitionsv1.CustomResourceDefinition {
	raw := func(text string) *definitionsv1.JSON { return &definitionsv1.JSON{Raw: []byte(text)} }
	text := definitionsv1.JSONSchemaProps{Type: "string"}
	spec := definitionsv1.JSONSchemaProps{Type: "object", Required: []string{"crew"}, Properties: map[string]definitionsv1.JSONSchemaProps{
		"crew":   {Type: "integer", Format: "int32", Minimum: ptr.To(0.0), Maximum: ptr.To(100.0), Default: raw("1")},
		"orders": {Type: "string", MaxLength: ptr.To[int64](64), Pattern: "^[a-z ]*$", Default: raw(`""`)},
		"port":   {Type: "string", Enum: []definitionsv1.JSON{*raw(`""`), *raw(`"hamburg"`), *raw(`"kiel"`)}},
		"length": {XIntOrString: true, AnyOf: []definitionsv1.JSONSchemaProps{{Type: "integer"}, text}},
		"cargo": {Type: "array", XListType: ptr.To("map"), XListMapKeys: []string{"name"}, Items: &definitionsv1.JSONSchemaPropsOrArray{
			Schema: &definitionsv1.JSONSchemaProps{Type: "object", Required: []string{"name"},
				Properties: map[string]definitionsv1.JSONSchemaProps{"name": text}}}},
		"flags": {Type: "object", AdditionalProperties: &definitionsv1.JSONSchemaPropsOrBool{Allows: true, Schema: &text}},
		"any":   {Type: "object", XPreserveUnknownFields: ptr.To(true)},
	}, XValidations: definitionsv1.ValidationRules{{Rule: "self.crew < 50 || self.port != ''", Message: "many need a port"}}}
	status := definitionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: ptr.To(true)}
	schema := &definitionsv1.JSONSchemaProps{Type: "object", Properties: map[string]definitionsv1.JSONSchemaProps{"spec": spec, "status": status}}
	definition := &definitionsv1.CustomResourceDefinition{}
	definition.Name = "boats.example.com"
	definition.Spec = definitionsv1.CustomResourceDefinitionSpec{
		Group: boats.Group,
		Scope: definitionsv1.NamespaceScoped,
		Names: definitionsv1.CustomResourceDefinitionNames{Plural: "boats", Singular: "boat", Kind: "Boat", ListKind: "BoatList"},
		Versions: []definitionsv1.CustomResourceDefinitionVersion{{
			Name: boats.Version, Served: true, Storage: true,
			Schema:           &definitionsv1.CustomResourceValidation{OpenAPIV3Schema: schema},
			Subresources:     &definitionsv1.CustomResourceSubresources{Status: &definitionsv1.CustomResourceSubresourceStatus{}},
			SelectableFields: []definitionsv1.SelectableField{{JSONPath: ".spec.port"}},
		}},
	}
	return definition
}

func (t *trial) objects() error {
	labels := map[string]string{"app": "trial"}
	template := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{
		Name: "c", Image: "i", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": resource.MustParse("0.1")}},
		ReadinessProbe: &corev1.Probe{ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Port: intstr.FromString("web")}}},
	}}}}
	meta := metav1.ObjectMeta{Name: "trial", Namespace: space, Labels: labels}
	apps := t.protobuf.typed.AppsV1()
	deployment := &appsv1.Deployment{ObjectMeta: meta, Spec: appsv1.DeploymentSpec{Replicas: ptr.To[int32](0), Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: template}}
	if _, err := apps.Deployments(space).Create(t.ctx, deployment, created); err != nil {
		return err
	}
	service := &corev1.Service{ObjectMeta: meta, Spec: corev1.ServiceSpec{Selector: labels, Ports: []corev1.ServicePort{{Port: 80, TargetPort: intstr.FromString("web")}}}}
	if _, err := t.protobuf.typed.CoreV1().Services(space).Create(t.ctx, service, created); err != nil {
		return err
	}
	job := *template.DeepCopy()
	job.Spec.RestartPolicy = corev1.RestartPolicyNever
	suspended := &batchv1.Job{ObjectMeta: meta, Spec: batchv1.JobSpec{Suspend: ptr.To(true), Template: job}}
	if _, err := t.protobuf.typed.BatchV1().Jobs(space).Create(t.ctx, suspended, created); err != nil {
		return err
	}
	policy := &networkingv1.NetworkPolicy{ObjectMeta: meta, Spec: networkingv1.NetworkPolicySpec{PolicyTypes: []networkingv1.PolicyType{"Egress"}}}
	if _, err := t.protobuf.typed.NetworkingV1().NetworkPolicies(space).Create(t.ctx, policy, created); err != nil {
		return err
	}
	binary := &corev1.Secret{ObjectMeta: meta, Data: map[string][]byte{"bytes": {0, 255, 10}, "none": {}}}
	if _, err := t.protobuf.typed.CoreV1().Secrets(space).Create(t.ctx, binary, created); err != nil {
		return err
	}
	return t.sameObjects()
}

// sameObjects compares what the clients of both content types get, but for the entries of managed fields, which time adds to.
func (t *trial) sameObjects() error {
	reads := map[string]func(clients) (any, error){
		"Deployment": func(c clients) (any, error) {
			return c.typed.AppsV1().Deployments(space).Get(t.ctx, "trial", metav1.GetOptions{})
		},
		"Service": func(c clients) (any, error) {
			return c.typed.CoreV1().Services(space).Get(t.ctx, "trial", metav1.GetOptions{})
		},
		"Job": func(c clients) (any, error) {
			return c.typed.BatchV1().Jobs(space).Get(t.ctx, "trial", metav1.GetOptions{})
		},
		"NetworkPolicy": func(c clients) (any, error) {
			return c.typed.NetworkingV1().NetworkPolicies(space).Get(t.ctx, "trial", metav1.GetOptions{})
		},
		"Secret": func(c clients) (any, error) {
			return c.typed.CoreV1().Secrets(space).Get(t.ctx, "trial", metav1.GetOptions{})
		},
		"Namespaces": func(c clients) (any, error) { return c.typed.CoreV1().Namespaces().List(t.ctx, metav1.ListOptions{}) },
		"ClusterRoles": func(c clients) (any, error) {
			return c.typed.RbacV1().ClusterRoles().List(t.ctx, metav1.ListOptions{Limit: 50})
		},
		"scale": func(c clients) (any, error) {
			return c.typed.AppsV1().Deployments(space).GetScale(t.ctx, "trial", metav1.GetOptions{})
		},
	}
	for name, read := range reads {
		if err := t.same(read); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

func (t *trial) pages() error {
	client := t.protobuf.typed.CoreV1().ConfigMaps(space)
	for index := range 50 {
		object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("page-%02d", index), Labels: map[string]string{"list": "pages"}}}
		if _, err := client.Create(t.ctx, object, created); err != nil {
			return err
		}
	}
	options := metav1.ListOptions{Limit: 7, LabelSelector: "list=pages"}
	names, revision := map[string]bool{}, ""
	for {
		page, err := client.List(t.ctx, options)
		if err != nil {
			return err
		}
		if revision == "" {
			revision = page.ResourceVersion
			if err := client.Delete(t.ctx, "page-49", metav1.DeleteOptions{}); err != nil {
				return err
			}
		}
		if page.ResourceVersion != revision {
			return fmt.Errorf("a page shows revision %s, the first one %s", page.ResourceVersion, revision)
		}
		for _, item := range page.Items {
			names[item.Name] = true
		}
		if options.Continue = page.Continue; options.Continue == "" {
			break
		}
	}
	if len(names) != 50 {
		return fmt.Errorf("the pages have %d names", len(names))
	}
	return t.revisions(revision)
}

func (t *trial) revisions(revision string) error {
	client := t.json.typed.CoreV1().ConfigMaps(space)
	counts := map[metav1.ResourceVersionMatch]int{metav1.ResourceVersionMatchExact: 50, metav1.ResourceVersionMatchNotOlderThan: 49}
	for match, wanted := range counts {
		options := metav1.ListOptions{ResourceVersion: revision, ResourceVersionMatch: match, LabelSelector: "list=pages"}
		list, err := client.List(t.ctx, options)
		if err != nil {
			return fmt.Errorf("%s: %w", match, err)
		}
		if len(list.Items) != wanted {
			return fmt.Errorf("%s: %d items", match, len(list.Items))
		}
	}
	_, err := client.List(t.ctx, metav1.ListOptions{ResourceVersionMatch: metav1.ResourceVersionMatchExact})
	if !apierrors.IsInvalid(err) {
		return fmt.Errorf("a match without a revision: %v", err)
	}
	_, err = client.List(t.ctx, metav1.ListOptions{Continue: "x"})
	if !apierrors.IsBadRequest(err) {
		return fmt.Errorf("a continue token that is none: %v", err)
	}
	return nil
}

func (t *trial) initialEvents() error {
	options := metav1.ListOptions{
		SendInitialEvents: ptr.To(true), AllowWatchBookmarks: true, ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan, LabelSelector: "list=pages",
	}
	for _, each := range []clients{t.protobuf, t.json} {
		events, err := each.typed.CoreV1().ConfigMaps(space).Watch(t.ctx, options)
		if err != nil {
			return err
		}
		added := 0
		err = untilEvent(events, func(event watch.Event) bool {
			if event.Type == watch.Added {
				added++
			}
			object, isObject := event.Object.(*corev1.ConfigMap)
			return isObject && event.Type == watch.Bookmark && object.Annotations[metav1.InitialEventsAnnotationKey] == "true"
		})
		events.Stop()
		if err != nil || added != 49 {
			return fmt.Errorf("%d objects before the bookmark: %w", added, err)
		}
	}
	return nil
}

func (t *trial) bookmarks() error {
	// A watch that ends by its timeout sends a bookmark before.
	options := metav1.ListOptions{AllowWatchBookmarks: true, TimeoutSeconds: ptr.To[int64](3)}
	events, err := t.protobuf.typed.CoreV1().ConfigMaps(space).Watch(t.ctx, options)
	if err != nil {
		return err
	}
	defer events.Stop()
	return untilEvent(events, func(event watch.Event) bool { return event.Type == watch.Bookmark })
}

func (t *trial) fieldSelectors() error {
	core := t.protobuf.typed.CoreV1()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	if _, err := core.ServiceAccounts(space).Create(t.ctx, account, created); err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "waits"}, Spec: corev1.PodSpec{NodeName: "somewhere", Containers: []corev1.Container{{Name: "c", Image: "i"}}}}
	if _, err := core.Pods(space).Create(t.ctx, pod, created); err != nil {
		return err
	}
	counts := []struct {
		selector string
		list     func(metav1.ListOptions) (any, error)
		wanted   int
	}{
		{"spec.nodeName=somewhere,status.phase=Pending", func(o metav1.ListOptions) (any, error) { return core.Pods("").List(t.ctx, o) }, 1},
		{"spec.nodeName!=somewhere", func(o metav1.ListOptions) (any, error) { return core.Pods(space).List(t.ctx, o) }, 0},
		{"metadata.name=page-07", func(o metav1.ListOptions) (any, error) { return core.ConfigMaps("").List(t.ctx, o) }, 1},
		{"metadata.namespace=clients,type=Opaque", func(o metav1.ListOptions) (any, error) { return core.Secrets("").List(t.ctx, o) }, 1},
		{"metadata.name=clients,status.phase=Active", func(o metav1.ListOptions) (any, error) { return core.Namespaces().List(t.ctx, o) }, 1},
	}
	for _, each := range counts {
		list, err := each.list(metav1.ListOptions{FieldSelector: each.selector})
		if err != nil {
			return fmt.Errorf("%s: %w", each.selector, err)
		}
		if found := reflect.ValueOf(list).Elem().FieldByName("Items").Len(); found != each.wanted {
			return fmt.Errorf("%s: %d items", each.selector, found)
		}
	}
	if _, err := core.Pods(space).List(t.ctx, metav1.ListOptions{FieldSelector: "spec.colour=red"}); !apierrors.IsBadRequest(err) {
		return fmt.Errorf("a field that cannot be selected: %v", err)
	}
	return nil
}

func (t *trial) metadataAlone() error {
	for _, contentType := range []string{jsonType, protobufType} {
		config := metadata.ConfigFor(t.config)
		if contentType == protobufType {
			config.ContentType, config.AcceptContentTypes = protobufType, protobufType+","+jsonType
		}
		client := metadata.NewForConfigOrDie(config).Resource(configMaps).Namespace(space)
		list, err := client.List(t.ctx, metav1.ListOptions{LabelSelector: "list=pages", Limit: 20})
		if err != nil {
			return err
		}
		one, err := client.Get(t.ctx, "page-07", metav1.GetOptions{})
		if err != nil {
			return err
		}
		if len(list.Items) != 20 || list.Continue == "" || one.Labels["list"] != "pages" || one.ResourceVersion == "" {
			return fmt.Errorf("%d items, %q, %+v", len(list.Items), list.Continue, one)
		}
		patch := []byte(`{"metadata":{"annotations":{"patched":"` + contentType + `"}}}`)
		one, err = client.Patch(t.ctx, "page-07", types.MergePatchType, patch, metav1.PatchOptions{})
		if err != nil || one.Annotations["patched"] != contentType {
			return fmt.Errorf("patched: %v, %w", one, err)
		}
	}
	return nil
}

func (t *trial) informers() error {
	stop := make(chan struct{})
	defer close(stop)
	typed := informers.NewSharedInformerFactoryWithOptions(t.protobuf.typed, 0, informers.WithNamespace(space))
	unstructured := dynamicinformer.NewFilteredDynamicSharedInformerFactory(t.dynamic, 0, space, nil)
	partial := metadatainformer.NewFilteredSharedInformerFactory(t.metadata, 0, space, nil)
	stores := map[string]cache.SharedIndexInformer{
		"typed":    typed.Core().V1().ConfigMaps().Informer(),
		"dynamic":  unstructured.ForResource(configMaps).Informer(),
		"metadata": partial.ForResource(configMaps).Informer(),
		"boats":    unstructured.ForResource(boats.WithResource("boats")).Informer(),
	}
	typed.Start(stop)
	unstructured.Start(stop)
	partial.Start(stop)
	for name, informer := range stores {
		if !cache.WaitForCacheSync(t.ctx.Done(), informer.HasSynced) {
			return fmt.Errorf("%s does not come in", name)
		}
	}
	if _, err := t.json.typed.CoreV1().ConfigMaps(space).Create(t.ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "late"}}, created); err != nil {
		return err
	}
	if err := t.json.typed.CoreV1().ConfigMaps(space).Delete(t.ctx, "page-00", metav1.DeleteOptions{}); err != nil {
		return err
	}
	for _, name := range []string{"typed", "dynamic", "metadata"} {
		holds := func(object string) bool {
			_, exists, _ := stores[name].GetIndexer().GetByKey(space + "/" + object)
			return exists
		}
		if err := eventually(func() bool { return holds("late") && !holds("page-00") }); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

func (t *trial) apply() error {
	client := t.protobuf.typed.CoreV1().ConfigMaps(space)
	orders := func(data string) *applycore.ConfigMapApplyConfiguration {
		return applycore.ConfigMap("applied", space).WithData(map[string]string{"a": data})
	}
	if _, err := client.Apply(t.ctx, orders("1"), metav1.ApplyOptions{FieldManager: "one"}); err != nil {
		return err
	}
	if _, err := client.Apply(t.ctx, orders("2"), metav1.ApplyOptions{FieldManager: "two"}); !apierrors.IsConflict(err) {
		return fmt.Errorf("a conflict: %v", err)
	}
	forced, err := client.Apply(t.ctx, orders("2"), metav1.ApplyOptions{FieldManager: "two", Force: true})
	if err != nil || forced.Data["a"] != "2" {
		return fmt.Errorf("forced: %v, %w", forced, err)
	}
	extracted, err := applycore.ExtractConfigMap(forced, "two")
	if err != nil || extracted.Data["a"] != "2" {
		return fmt.Errorf("the fields of a manager: %v, %w", extracted, err)
	}
	boat := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": boats.String(), "kind": "Boat", "metadata": map[string]any{"name": "applied"},
		"spec": map[string]any{"crew": int64(3), "cargo": []any{map[string]any{"name": "tea"}}},
	}}
	applied, err := t.dynamic.Resource(boats.WithResource("boats")).Namespace(space).Apply(t.ctx, "applied", boat, metav1.ApplyOptions{FieldManager: "one"})
	if err != nil {
		return err
	}
	if crew, _, _ := unstructured.NestedInt64(applied.Object, "spec", "crew"); crew != 3 {
		return fmt.Errorf("a boat that was applied: %v", applied.Object)
	}
	return nil
}

func (t *trial) failures() error {
	client := t.protobuf.typed.CoreV1().ConfigMaps(space)
	if _, err := client.Get(t.ctx, "absent", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		return fmt.Errorf("absent: %v", err)
	}
	late := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "late"}}
	if _, err := client.Create(t.ctx, late, created); !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("there already: %v", err)
	}
	late.ResourceVersion = "1"
	if _, err := client.Update(t.ctx, late, updated); !apierrors.IsConflict(err) {
		return fmt.Errorf("an old revision: %v", err)
	}
	wrong := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "A_B"}}
	_, err := client.Create(t.ctx, wrong, created)
	var status apierrors.APIStatus
	if !apierrors.IsInvalid(err) || !errors.As(err, &status) || len(status.Status().Details.Causes) != 1 {
		return fmt.Errorf("an invalid name: %v", err)
	}
	_, err = client.Watch(t.ctx, metav1.ListOptions{ResourceVersion: "x"})
	if err == nil {
		return errors.New("a watch from no revision is taken")
	}
	return nil
}

// cbor sends what a client sends that prefers CBOR; the server knows none, and the client goes on in JSON.
func (t *trial) cbor() error {
	if gates, changes := clientfeatures.FeatureGates().(interface {
		Set(clientfeatures.Feature, bool) error
	}); changes {
		for _, gate := range []clientfeatures.Feature{clientfeatures.ClientsAllowCBOR, clientfeatures.ClientsPreferCBOR} {
			if err := gates.Set(gate, true); err != nil {
				return err
			}
		}
	}
	client := dynamic.NewForConfigOrDie(rest.CopyConfig(t.config)).Resource(configMaps).Namespace(space)
	object := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "cbor"}}}
	// The first refusal teaches the client.
	if _, err := client.Create(t.ctx, object, metav1.CreateOptions{}); err != nil && !apierrors.IsUnsupportedMediaType(err) {
		return err
	}
	if _, err := client.Create(t.ctx, object, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	list, err := client.List(t.ctx, metav1.ListOptions{FieldSelector: "metadata.name=cbor"})
	if err != nil || len(list.Items) != 1 {
		return fmt.Errorf("listed: %v, %w", list, err)
	}
	events, err := client.Watch(t.ctx, metav1.ListOptions{FieldSelector: "metadata.name=cbor"})
	if err != nil {
		return err
	}
	defer events.Stop()
	return untilEvent(events, func(event watch.Event) bool { return event.Type == watch.Added })
}

func untilEvent(events watch.Interface, isIt func(watch.Event) bool) error {
	deadline := time.After(20 * time.Second)
	for {
		select {
		case event, isOpen := <-events.ResultChan():
			if !isOpen {
				return errors.New("the watch ended")
			}
			if isIt(event) {
				return nil
			}
		case <-deadline:
			return errors.New("no such event within 20 s")
		}
	}
}

func eventually(holds func() bool) error {
	for range 100 {
		if holds() {
			return nil
		}
		time.Sleep(100 * time.Millisecond)
	}
	return errors.New("not within 10 s")
}
