package main

import (
	"errors"
	"fmt"
	"strings"
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	applyapps "k8s.io/client-go/applyconfigurations/apps/v1"
	applycore "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
)

// patches are those of each type, with what makes them fail.
func (t *trial) patches() error {
	client := t.protobuf.typed.CoreV1().ConfigMaps(space)
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "patched"}, Data: map[string]string{"a": "1", "b": "2"}}
	made, err := client.Create(t.ctx, object, created)
	if err != nil {
		return err
	}
	patch := func(kind types.PatchType, text string) (*corev1.ConfigMap, error) {
		return client.Patch(t.ctx, "patched", kind, []byte(text), metav1.PatchOptions{})
	}
	steps := []struct {
		kind  types.PatchType
		text  string
		holds func(*corev1.ConfigMap, error) bool
	}{
		{types.JSONPatchType, `[{"op":"test","path":"/data/a","value":"1"},{"op":"move","from":"/data/a","path":"/data/c"}]`,
			func(c *corev1.ConfigMap, err error) bool {
				return err == nil && c.Data["c"] == "1" && c.Data["a"] == ""
			}},
		{types.JSONPatchType, `[{"op":"test","path":"/data/b","value":"3"}]`,
			func(_ *corev1.ConfigMap, err error) bool { return apierrors.IsInvalid(err) }},
		{types.JSONPatchType, `[{"op":"remove","path":"/data/z"}]`,
			func(_ *corev1.ConfigMap, err error) bool { return apierrors.IsInvalid(err) }},
		{types.JSONPatchType, `{"op":"remove"}`,
			func(_ *corev1.ConfigMap, err error) bool { return apierrors.IsBadRequest(err) }},
		{types.MergePatchType, `{"data":{"b":null,"d":"4"}}`,
			func(c *corev1.ConfigMap, err error) bool { return err == nil && c.Data["d"] == "4" && len(c.Data) == 2 }},
		{types.StrategicMergePatchType, `{"data":{"$patch":"replace","e":"5"}}`,
			func(c *corev1.ConfigMap, err error) bool { return err == nil && len(c.Data) == 1 && c.Data["e"] == "5" }},
		{types.MergePatchType, `{"metadata":{"resourceVersion":"` + made.ResourceVersion + `"},"data":{"f":"6"}}`,
			func(_ *corev1.ConfigMap, err error) bool { return apierrors.IsConflict(err) }},
		{types.MergePatchType, `{"metadata":{"uid":"other"}}`,
			func(_ *corev1.ConfigMap, err error) bool { return apierrors.IsInvalid(err) }},
		{types.MergePatchType, `{"data":`,
			func(_ *corev1.ConfigMap, err error) bool { return apierrors.IsBadRequest(err) }},
	}
	for _, step := range steps {
		if found, err := patch(step.kind, step.text); !step.holds(found, err) {
			return fmt.Errorf("%s %s: %+v, %v", step.kind, step.text, found, err)
		}
	}
	_, err = t.dynamic.Resource(boats.WithResource("boats")).Namespace(space).
		Patch(t.ctx, "applied", types.StrategicMergePatchType, []byte(`{"spec":{"crew":4}}`), metav1.PatchOptions{})
	if !apierrors.IsUnsupportedMediaType(err) {
		return fmt.Errorf("a strategic patch of a custom object: %v", err)
	}
	return nil
}

// deletions are those with preconditions, of collections, and of objects that finalizers hold.
func (t *trial) deletions() error {
	client := t.protobuf.typed.CoreV1().ConfigMaps(space)
	held := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "held", Finalizers: []string{"example.com/hold"}, Labels: map[string]string{"list": "held"}}}
	made, err := client.Create(t.ctx, held, created)
	if err != nil {
		return err
	}
	events, err := client.Watch(t.ctx, metav1.ListOptions{LabelSelector: "list=held", ResourceVersion: made.ResourceVersion})
	if err != nil {
		return err
	}
	defer events.Stop()
	other := metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: ptr.To(types.UID("other"))}}
	if err := client.Delete(t.ctx, "held", other); !apierrors.IsConflict(err) {
		return fmt.Errorf("a delete of another: %v", err)
	}
	old := metav1.DeleteOptions{Preconditions: &metav1.Preconditions{ResourceVersion: ptr.To("1")}}
	if err := client.Delete(t.ctx, "held", old); !apierrors.IsConflict(err) {
		return fmt.Errorf("a delete of an old revision: %v", err)
	}
	right := metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &made.UID}}
	if err := client.Delete(t.ctx, "held", right); err != nil {
		return err
	}
	found, err := client.Get(t.ctx, "held", metav1.GetOptions{})
	if err != nil || found.DeletionTimestamp == nil || found.DeletionGracePeriodSeconds == nil {
		return fmt.Errorf("one that is held: %+v, %w", found, err)
	}
	more := found.DeepCopy()
	more.Finalizers = append(more.Finalizers, "example.com/late")
	if _, err := client.Update(t.ctx, more, updated); !apierrors.IsInvalid(err) {
		return fmt.Errorf("a finalizer that comes too late: %v", err)
	}
	found.Finalizers = nil
	if _, err := client.Update(t.ctx, found, updated); err != nil {
		return err
	}
	err = untilEvent(events, func(event watch.Event) bool { return event.Type == watch.Deleted })
	if err != nil {
		return err
	}
	several := metav1.ListOptions{LabelSelector: "list=pages"}
	if err := client.DeleteCollection(t.ctx, metav1.DeleteOptions{}, several); err != nil {
		return err
	}
	list, err := client.List(t.ctx, several)
	if err != nil || len(list.Items) != 0 {
		return fmt.Errorf("after a delete of the collection: %d items, %w", len(list.Items), err)
	}
	return nil
}

type warnings struct {
	sync.Mutex
	texts []string
}

func (w *warnings) HandleWarningHeader(code int, _ string, text string) {
	w.Lock()
	defer w.Unlock()
	w.texts = append(w.texts, fmt.Sprint(code, " ", text))
}

// checks are dry runs, unknown fields and generated names.
func (t *trial) checks() error {
	heard := &warnings{}
	config := rest.CopyConfig(t.config)
	config.WarningHandler = heard
	client := dynamic.NewForConfigOrDie(config).Resource(schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}).Namespace(space)
	object := func(name string) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{"generateName": name},
			"spec": map[string]any{
				"colour": "red", "selector": map[string]any{"matchLabels": map[string]any{"app": "dry"}},
				"template": map[string]any{"metadata": map[string]any{"labels": map[string]any{"app": "dry"}},
					"spec": map[string]any{"containers": []any{map[string]any{"name": "c", "image": "i"}}}},
			},
		}}
	}
	dry := metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}, FieldValidation: metav1.FieldValidationWarn}
	made, err := client.Create(t.ctx, object("dry-"), dry)
	if err != nil || !strings.HasPrefix(made.GetName(), "dry-") || made.GetUID() == "" {
		return fmt.Errorf("a dry run: %+v, %w", made, err)
	}
	if _, err := client.Get(t.ctx, made.GetName(), metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		return fmt.Errorf("after a dry run: %v", err)
	}
	if len(heard.texts) != 1 || heard.texts[0] != `299 unknown field "spec.colour"` {
		return fmt.Errorf("warnings: %q", heard.texts)
	}
	dry.FieldValidation = metav1.FieldValidationStrict
	if _, err := client.Create(t.ctx, object("dry-"), dry); !apierrors.IsBadRequest(err) || !strings.Contains(err.Error(), "strict decoding error") {
		return fmt.Errorf("a field that is not known: %v", err)
	}
	dry.FieldValidation = metav1.FieldValidationIgnore
	made, err = client.Create(t.ctx, object(strings.Repeat("a", 100)), dry)
	if err != nil || len(made.GetName()) != 63 {
		return fmt.Errorf("a long generated name: %v", err)
	}
	return nil
}

// owned checks that apply takes away what a manager no longer names, in objects and in their status.
func (t *trial) owned() error {
	client := t.protobuf.typed.CoreV1().ConfigMaps(space)
	apply := func(manager string, data map[string]string) (*corev1.ConfigMap, error) {
		return client.Apply(t.ctx, applycore.ConfigMap("owned", space).WithData(data), metav1.ApplyOptions{FieldManager: manager})
	}
	if _, err := apply("one", map[string]string{"a": "1", "b": "2"}); err != nil {
		return err
	}
	if _, err := apply("two", map[string]string{"b": "2", "c": "3"}); err != nil {
		return err
	}
	found, err := apply("one", map[string]string{})
	if err != nil || len(found.Data) != 2 || found.Data["b"] != "2" || len(found.ManagedFields) != 1 {
		return fmt.Errorf("what one let go: %+v, %w", found, err)
	}
	deployments := t.protobuf.typed.AppsV1().Deployments(space)
	condition := applyapps.DeploymentCondition().WithType("Example").WithStatus(corev1.ConditionTrue).WithReason("Because")
	status := applyapps.Deployment("trial", space).WithStatus(applyapps.DeploymentStatus().WithConditions(condition))
	options := metav1.ApplyOptions{FieldManager: "status", Force: true}
	withStatus, err := deployments.ApplyStatus(t.ctx, status, options)
	if err != nil {
		return err
	}
	has := func(d *appsv1.Deployment) bool {
		for _, each := range d.Status.Conditions {
			if each.Type == "Example" {
				return true
			}
		}
		return false
	}
	if !has(withStatus) {
		return fmt.Errorf("an applied status: %+v", withStatus.Status)
	}
	empty := applyapps.Deployment("trial", space).WithStatus(applyapps.DeploymentStatus())
	if withStatus, err = deployments.ApplyStatus(t.ctx, empty, options); err != nil || has(withStatus) {
		return fmt.Errorf("a status that was let go: %+v, %w", withStatus.Status, err)
	}
	return nil
}

// impersonated asks as another user.
func (t *trial) impersonated() error {
	config := rest.CopyConfig(t.config)
	config.Impersonate = rest.ImpersonationConfig{UserName: "someone", Groups: []string{"crew"}, Extra: map[string][]string{"example.com/Ship": {"anna"}}}
	client := kubernetes.NewForConfigOrDie(config)
	if _, err := client.CoreV1().Secrets(space).List(t.ctx, metav1.ListOptions{}); !apierrors.IsForbidden(err) {
		return fmt.Errorf("someone lists secrets: %v", err)
	}
	review, err := selfOf(t, client)
	if err != nil {
		return err
	}
	if review.Username != "someone" || fmt.Sprint(review.Groups) != "[crew system:authenticated]" || fmt.Sprint(review.Extra["example.com/ship"]) != "[anna]" {
		return fmt.Errorf("who someone is: %+v", review)
	}
	if review.UID != "" {
		return errors.New("someone has a UID")
	}
	return nil
}
