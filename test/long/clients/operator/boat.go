package main

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var boats = schema.GroupVersion{Group: "example.com", Version: "v1"}

// A Boat is a Deployment of its crew, and a ConfigMap with its orders.
type Boat struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              BoatSpec   `json:"spec,omitempty"`
	Status            BoatStatus `json:"status,omitempty"`
}

type BoatSpec struct {
	Crew   int32  `json:"crew,omitempty"`
	Orders string `json:"orders,omitempty"`
	Port   string `json:"port,omitempty"`
}

type BoatStatus struct {
	Phase      string             `json:"phase,omitempty"`
	Ready      int32              `json:"ready,omitempty"`
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

type BoatList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Boat `json:"items"`
}

func (b *Boat) DeepCopyObject() runtime.Object {
	copied := *b
	copied.ObjectMeta = *b.ObjectMeta.DeepCopy()
	copied.Status.Conditions = append([]metav1.Condition(nil), b.Status.Conditions...)
	return &copied
}

func (l *BoatList) DeepCopyObject() runtime.Object {
	copied := *l
	copied.ListMeta = *l.ListMeta.DeepCopy()
	copied.Items = nil
	for index := range l.Items {
		copied.Items = append(copied.Items, *l.Items[index].DeepCopyObject().(*Boat))
	}
	return &copied
}
