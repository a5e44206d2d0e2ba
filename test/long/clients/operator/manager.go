package main

import (
	"context"
	"os"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	applyapps "k8s.io/client-go/applyconfigurations/apps/v1"
	applycore "k8s.io/client-go/applyconfigurations/core/v1"
	applymeta "k8s.io/client-go/applyconfigurations/meta/v1"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/record"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

const (
	finalizer = "example.com/harbour"
	owner     = client.FieldOwner("operator")
	portField = "spec.port"
)

type reconciler struct {
	client.Client
	events record.EventRecorder
}

func manage(config *rest.Config) error {
	ctrl.SetLogger(klog.Background())
	scheme := runtime.NewScheme()
	clientgoscheme.AddToScheme(scheme)
	scheme.AddKnownTypes(boats, &Boat{}, &BoatList{})
	metav1.AddToGroupVersion(scheme, boats)
	lease, renew, retry := 6*time.Second, 4*time.Second, time.Second
	manager, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:                        scheme,
		LeaderElection:                true,
		LeaderElectionID:              "operator.example.com",
		LeaderElectionNamespace:       "default",
		LeaderElectionReleaseOnCancel: true,
		LeaseDuration:                 &lease,
		RenewDeadline:                 &renew,
		RetryPeriod:                   &retry,
		Metrics:                       server.Options{BindAddress: "0"},
		HealthProbeBindAddress:        os.Getenv("PROBES"),
		Cache: cache.Options{ByObject: map[client.Object]cache.ByObject{
			&appsv1.Deployment{}: {Label: labels.SelectorFromSet(labels.Set{"app": "boat"})},
			&corev1.Secret{}:     {Field: fields.OneTermEqualSelector("type", "example.com/papers")},
		}},
	})
	if err != nil {
		return err
	}
	ctx := ctrl.SetupSignalHandler()
	byPort := func(object client.Object) []string { return []string{object.(*Boat).Spec.Port} }
	if err := manager.GetFieldIndexer().IndexField(ctx, &Boat{}, portField, byPort); err != nil {
		return err
	}
	r := &reconciler{manager.GetClient(), manager.GetEventRecorderFor("operator")}
	err = ctrl.NewControllerManagedBy(manager).
		For(&Boat{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Owns(&appsv1.Deployment{}).
		Owns(&corev1.ConfigMap{}, builder.OnlyMetadata).
		Watches(&corev1.Secret{}, handler.EnqueueRequestsFromMapFunc(r.boatsOfPort)).
		Complete(r)
	if err != nil {
		return err
	}
	return manager.Start(ctx)
}

// boatsOfPort returns the boats that a Secret with the name of their port lets sail.
func (r *reconciler) boatsOfPort(ctx context.Context, papers client.Object) []reconcile.Request {
	var found BoatList
	if err := r.List(ctx, &found, client.InNamespace(papers.GetNamespace()), client.MatchingFields{portField: papers.GetName()}); err != nil {
		return nil
	}
	var requests []reconcile.Request
	for index := range found.Items {
		requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&found.Items[index])})
	}
	return requests
}

func (r *reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	var boat Boat
	if err := r.Get(ctx, request.NamespacedName, &boat); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if !boat.DeletionTimestamp.IsZero() {
		return reconcile.Result{}, r.leave(ctx, &boat)
	}
	if controllerutil.AddFinalizer(&boat, finalizer) {
		if err := r.Update(ctx, &boat); err != nil {
			return reconcile.Result{}, err
		}
	}
	reference := applymeta.OwnerReference().WithAPIVersion(boats.String()).WithKind("Boat").WithName(boat.Name).
		WithUID(boat.UID).WithController(true).WithBlockOwnerDeletion(true)
	orders := applycore.ConfigMap(boat.Name, boat.Namespace).WithOwnerReferences(reference).
		WithData(map[string]string{"orders": boat.Spec.Orders})
	if err := r.Apply(ctx, orders, owner, client.ForceOwnership); err != nil {
		return reconcile.Result{}, err
	}
	if err := r.Apply(ctx, crewOf(&boat).WithOwnerReferences(reference), owner, client.ForceOwnership); err != nil {
		return reconcile.Result{}, err
	}
	return reconcile.Result{}, r.report(ctx, &boat)
}

func crewOf(boat *Boat) *applyapps.DeploymentApplyConfiguration {
	app := map[string]string{"app": "boat", "boat": boat.Name}
	container := applycore.Container().WithName("sailor").WithImage("example.com/sailor:1")
	template := applycore.PodTemplateSpec().WithLabels(app).WithSpec(applycore.PodSpec().WithContainers(container))
	return applyapps.Deployment(boat.Name, boat.Namespace).WithLabels(app).WithSpec(applyapps.DeploymentSpec().
		WithReplicas(boat.Spec.Crew).WithSelector(applymeta.LabelSelector().WithMatchLabels(app)).WithTemplate(template))
}

func (r *reconciler) leave(ctx context.Context, boat *Boat) error {
	r.events.Event(boat, corev1.EventTypeNormal, "Left", "the boat has left the harbour")
	if controllerutil.RemoveFinalizer(boat, finalizer) {
		return r.Update(ctx, boat)
	}
	return nil
}

// report writes the status where it differs: what the crew's Deployment says, and whether the port's papers are there.
func (r *reconciler) report(ctx context.Context, boat *Boat) error {
	key := client.ObjectKeyFromObject(boat)
	var crew appsv1.Deployment
	if err := r.Get(ctx, key, &crew); client.IgnoreNotFound(err) != nil {
		return err
	}
	var orders metav1.PartialObjectMetadata
	orders.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMap"))
	ordersErr := r.Get(ctx, key, &orders)
	papersErr := r.Get(ctx, types.NamespacedName{Namespace: boat.Namespace, Name: boat.Spec.Port}, &corev1.Secret{})
	before := boat.DeepCopyObject().(*Boat)
	boat.Status.Ready = crew.Status.ReadyReplicas
	boat.Status.Phase = map[bool]string{true: "Sailing", false: "Waiting"}[papersErr == nil && ordersErr == nil]
	meta.SetStatusCondition(&boat.Status.Conditions, metav1.Condition{Type: "Manned", Reason: "Crew",
		Status: map[bool]metav1.ConditionStatus{true: "True", false: "False"}[crew.Status.ReadyReplicas == boat.Spec.Crew]})
	if equality.Semantic.DeepEqual(before.Status, boat.Status) {
		return nil
	}
	r.events.Eventf(boat, corev1.EventTypeNormal, boat.Status.Phase, "%d of %d are on board", boat.Status.Ready, boat.Spec.Crew)
	return r.Status().Patch(ctx, boat, client.MergeFrom(before))
}
