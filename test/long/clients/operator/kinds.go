package main

import (
	"errors"
	"fmt"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	definitionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/scale"
	"k8s.io/utils/ptr"
)

var (
	ships     = schema.GroupVersion{Group: "ships.example.com", Version: "v1"}
	shipNames = definitionsv1.CustomResourceDefinitionNames{Plural: "ships", Singular: "ship", Kind: "Ship", ListKind: "ShipList"}
)

func shipDefinition() *definitionsv1.CustomResourceDefinition {
	count := definitionsv1.JSONSchemaProps{Type: "integer"}
	open := ptr.To(true)
	text := definitionsv1.JSONSchemaProps{Type: "string"}
	schemaOf := &definitionsv1.JSONSchemaProps{Type: "object", Properties: map[string]definitionsv1.JSONSchemaProps{
		"spec":   {Type: "object", Properties: map[string]definitionsv1.JSONSchemaProps{"crew": count, "port": text}},
		"status": {Type: "object", XPreserveUnknownFields: open, Properties: map[string]definitionsv1.JSONSchemaProps{"crew": count}},
	}}
	version := func(name string, isStored bool) definitionsv1.CustomResourceDefinitionVersion {
		return definitionsv1.CustomResourceDefinitionVersion{Name: name, Served: true, Storage: isStored,
			Schema:           &definitionsv1.CustomResourceValidation{OpenAPIV3Schema: schemaOf},
			SelectableFields: []definitionsv1.SelectableField{{JSONPath: ".spec.port"}},
			Subresources: &definitionsv1.CustomResourceSubresources{Status: &definitionsv1.CustomResourceSubresourceStatus{},
				Scale: &definitionsv1.CustomResourceSubresourceScale{SpecReplicasPath: ".spec.crew", StatusReplicasPath: ".status.crew"}}}
	}
	definition := &definitionsv1.CustomResourceDefinition{}
	definition.Name = "ships.ships.example.com"
	definition.Spec = definitionsv1.CustomResourceDefinitionSpec{Group: ships.Group, Scope: definitionsv1.NamespaceScoped, Names: shipNames,
		Versions: []definitionsv1.CustomResourceDefinitionVersion{version("v1", true), version("v2", false)}}
	return definition
}

// mapped makes a definition, and finds its kind by discovery when it is served.
func (t *trial) mapped() (*meta.RESTMapping, error) {
	definitions := t.protobuf.definitions.ApiextensionsV1().CustomResourceDefinitions()
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(t.protobuf.typed.Discovery()))
	kind := ships.WithKind("Ship").GroupKind()
	if _, err := mapper.RESTMapping(kind); !meta.IsNoMatchError(err) {
		return nil, fmt.Errorf("a kind that is not there yet: %v", err)
	}
	if _, err := definitions.Create(t.ctx, shipDefinition(), created); err != nil {
		return nil, err
	}
	var mapping *meta.RESTMapping
	err := eventually(func() bool {
		mapper.Reset()
		found, err := mapper.RESTMapping(kind)
		mapping = found
		return err == nil
	})
	return mapping, err
}

// versions reads and writes one object in two versions, its status and its scale.
func (t *trial) versions() error {
	mapping, err := t.mapped()
	if err != nil {
		return err
	}
	if mapping.Resource.Version != "v2" {
		return fmt.Errorf("the version of the mapping is %s", mapping.Resource.Version)
	}
	first, second := t.dynamic.Resource(ships.WithResource("ships")).Namespace(space), t.dynamic.Resource(mapping.Resource).Namespace(space)
	events, err := second.Watch(t.ctx, metav1.ListOptions{FieldSelector: "spec.port=kiel"})
	if err != nil {
		return err
	}
	defer events.Stop()
	ship := &unstructured.Unstructured{Object: map[string]any{"apiVersion": ships.String(), "kind": "Ship", "metadata": map[string]any{"name": "anna"},
		"spec": map[string]any{"crew": int64(3), "port": "kiel"}, "status": map[string]any{"crew": int64(9)}}}
	made, err := first.Create(t.ctx, ship, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	if _, has := made.Object["status"]; has || made.GetGeneration() != 1 {
		return fmt.Errorf("a create with a status: %v", made.Object)
	}
	found, err := second.Get(t.ctx, "anna", metav1.GetOptions{})
	if err != nil || found.GetAPIVersion() != "ships.example.com/v2" || found.GetUID() != made.GetUID() {
		return fmt.Errorf("in the other version: %v, %w", found, err)
	}
	unstructured.SetNestedField(found.Object, int64(2), "status", "crew")
	unstructured.SetNestedField(found.Object, int64(5), "spec", "crew")
	found, err = second.UpdateStatus(t.ctx, found, metav1.UpdateOptions{})
	crew, _, _ := unstructured.NestedInt64(found.Object, "spec", "crew")
	if err != nil || crew != 3 || found.GetGeneration() != 1 {
		return fmt.Errorf("a written status: %v, %w", found.Object, err)
	}
	if err := t.scaled(mapping); err != nil {
		return err
	}
	return t.selected(events)
}

func (t *trial) scaled(mapping *meta.RESTMapping) error {
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(t.protobuf.typed.Discovery()))
	kinds := scale.NewDiscoveryScaleKindResolver(t.protobuf.typed.Discovery())
	scales, err := scale.NewForConfig(t.config, mapper, dynamic.LegacyAPIPathResolverFunc, kinds)
	if err != nil {
		return err
	}
	client, resource := scales.Scales(space), mapping.Resource.GroupResource()
	found, err := client.Get(t.ctx, resource, "anna", metav1.GetOptions{})
	if err != nil || found.Spec.Replicas != 3 || found.Status.Replicas != 2 {
		return fmt.Errorf("a scale: %+v, %w", found, err)
	}
	found.Spec.Replicas = 7
	if found, err = client.Update(t.ctx, resource, found, metav1.UpdateOptions{}); err != nil || found.Spec.Replicas != 7 {
		return fmt.Errorf("a written scale: %+v, %w", found, err)
	}
	deployment, err := t.protobuf.typed.AppsV1().Deployments(space).UpdateScale(t.ctx, "trial",
		&autoscalingv1.Scale{ObjectMeta: metav1.ObjectMeta{Name: "trial", Namespace: space}, Spec: autoscalingv1.ScaleSpec{Replicas: 4}}, updated)
	if err != nil || deployment.Spec.Replicas != 4 {
		return fmt.Errorf("the scale of a Deployment: %+v, %w", deployment, err)
	}
	return nil
}

// selected moves the object out of what a watch with a selected field sees.
func (t *trial) selected(events watch.Interface) error {
	client := t.dynamic.Resource(ships.WithResource("ships")).Namespace(space)
	ship, err := client.Get(t.ctx, "anna", metav1.GetOptions{})
	if err != nil {
		return err
	}
	if ship.GetGeneration() != 2 {
		return fmt.Errorf("the generation after a scale is %d", ship.GetGeneration())
	}
	unstructured.SetNestedField(ship.Object, "hamburg", "spec", "port")
	if _, err := client.Update(t.ctx, ship, metav1.UpdateOptions{}); err != nil {
		return err
	}
	var seen []watch.EventType
	err = untilEvent(events, func(event watch.Event) bool {
		seen = append(seen, event.Type)
		object, isObject := event.Object.(*unstructured.Unstructured)
		return isObject && object.GetAPIVersion() == "ships.example.com/v2" && event.Type == watch.Deleted
	})
	if err != nil || fmt.Sprint(seen) != "[ADDED MODIFIED MODIFIED DELETED]" {
		return fmt.Errorf("the watch saw %v: %w", seen, err)
	}
	list, err := client.List(t.ctx, metav1.ListOptions{FieldSelector: "spec.port=hamburg"})
	if err != nil || len(list.Items) != 1 {
		return fmt.Errorf("listed by a field: %w", err)
	}
	return nil
}

// twoGroups writes an event in one group and reads it in the other.
func (t *trial) twoGroups() error {
	now := metav1.NewMicroTime(time.Now())
	event := &eventsv1.Event{ObjectMeta: metav1.ObjectMeta{Name: "sailed"}, EventTime: now, ReportingController: "example.com/trial", ReportingInstance: "trial-1",
		Action: "Sailing", Reason: "Wind", Note: "it blows", Type: corev1.EventTypeNormal,
		Regarding: corev1.ObjectReference{Kind: "ConfigMap", Namespace: space, Name: "applied", APIVersion: "v1"}}
	client := t.protobuf.typed.EventsV1().Events(space)
	made, err := client.Create(t.ctx, event, created)
	if err != nil {
		return err
	}
	made.Series = &eventsv1.EventSeries{Count: 2, LastObservedTime: now}
	if _, err := client.Update(t.ctx, made, updated); err != nil {
		return err
	}
	list, err := t.json.typed.CoreV1().Events(space).List(t.ctx, metav1.ListOptions{FieldSelector: "involvedObject.name=applied,reason=Wind"})
	if err != nil || len(list.Items) != 1 {
		return fmt.Errorf("%d events, %w", len(list.Items), err)
	}
	found := list.Items[0]
	if found.Message != "it blows" || found.ReportingController != "example.com/trial" || found.Action != "Sailing" || found.Series == nil || found.Series.Count != 2 {
		return fmt.Errorf("the event: %+v", found)
	}
	wrong := event.DeepCopy()
	wrong.Name, wrong.ReportingController = "wrong", ""
	if _, err := client.Create(t.ctx, wrong, created); err == nil {
		return errors.New("an event without a controller is taken")
	}
	return nil
}

// podParts are the writes of kubelets, schedulers and operators beside the Pod itself.
func (t *trial) podParts() error {
	client := t.protobuf.typed.CoreV1().Pods(space)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "bound"}, Spec: corev1.PodSpec{SchedulerName: "example.com", Containers: []corev1.Container{{Name: "c", Image: "i"}}}}
	if _, err := client.Create(t.ctx, pod, created); err != nil {
		return err
	}
	binding := &corev1.Binding{ObjectMeta: metav1.ObjectMeta{Name: "bound"}, Target: corev1.ObjectReference{Kind: "Node", Name: "somewhere"}}
	if err := client.Bind(t.ctx, binding, created); err != nil {
		return err
	}
	if err := client.Bind(t.ctx, binding, created); err == nil {
		return errors.New("a Pod is bound twice")
	}
	found, err := client.Get(t.ctx, "bound", metav1.GetOptions{})
	if err != nil || found.Spec.NodeName != "somewhere" || len(found.Status.Conditions) != 1 || found.Status.Conditions[0].Type != corev1.PodScheduled {
		return fmt.Errorf("a bound Pod: %+v, %w", found.Status, err)
	}
	debugger := corev1.EphemeralContainer{EphemeralContainerCommon: corev1.EphemeralContainerCommon{Name: "debug", Image: "d"}, TargetContainerName: "c"}
	found.Spec.EphemeralContainers = append(found.Spec.EphemeralContainers, debugger)
	if found, err = client.UpdateEphemeralContainers(t.ctx, "bound", found, updated); err != nil || len(found.Spec.EphemeralContainers) != 1 {
		return fmt.Errorf("a container for debugging: %w", err)
	}
	found.Status.Phase = corev1.PodRunning
	if found, err = client.UpdateStatus(t.ctx, found, updated); err != nil || found.Status.Phase != corev1.PodRunning {
		return fmt.Errorf("a written status: %w", err)
	}
	return client.Delete(t.ctx, "bound", metav1.DeleteOptions{GracePeriodSeconds: ptr.To[int64](0)})
}

func selfOf(t *trial, client kubernetes.Interface) (authenticationv1.UserInfo, error) {
	review, err := client.AuthenticationV1().SelfSubjectReviews().Create(t.ctx, &authenticationv1.SelfSubjectReview{}, created)
	if err != nil {
		return authenticationv1.UserInfo{}, err
	}
	return review.Status.UserInfo, nil
}

// accounts asks for a token, and what its account may do.
func (t *trial) accounts() error {
	accounts := t.protobuf.typed.CoreV1().ServiceAccounts(space)
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: ptr.To[int64](3600)}}
	token, err := accounts.CreateToken(t.ctx, "default", request, created)
	if err != nil {
		return err
	}
	review := &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token.Status.Token}}
	review, err = t.protobuf.typed.AuthenticationV1().TokenReviews().Create(t.ctx, review, created)
	if err != nil || !review.Status.Authenticated || review.Status.User.Username != "system:serviceaccount:clients:default" {
		return fmt.Errorf("a review of a token: %+v, %w", review.Status, err)
	}
	attributes := &authorizationv1.ResourceAttributes{Namespace: space, Verb: "list", Resource: "secrets"}
	access := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{User: review.Status.User.Username, Groups: review.Status.User.Groups, ResourceAttributes: attributes}}
	access, err = t.protobuf.typed.AuthorizationV1().SubjectAccessReviews().Create(t.ctx, access, created)
	if err != nil || access.Status.Allowed || access.Status.Denied {
		return fmt.Errorf("what the account may do: %+v, %w", access.Status, err)
	}
	self := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: attributes}}
	self, err = t.json.typed.AuthorizationV1().SelfSubjectAccessReviews().Create(t.ctx, self, created)
	if err != nil || !self.Status.Allowed {
		return fmt.Errorf("what the administrator may do: %+v, %w", self.Status, err)
	}
	rules := &authorizationv1.SelfSubjectRulesReview{Spec: authorizationv1.SelfSubjectRulesReviewSpec{Namespace: space}}
	rules, err = t.protobuf.typed.AuthorizationV1().SelfSubjectRulesReviews().Create(t.ctx, rules, created)
	if err != nil || len(rules.Status.ResourceRules) == 0 || rules.Status.Incomplete {
		return fmt.Errorf("the rules of the administrator: %+v, %w", rules.Status, err)
	}
	return nil
}
