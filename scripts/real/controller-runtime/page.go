package main

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var groupVersion = schema.GroupVersion{Group: "bench.capstan.dev", Version: "v1"}

type Page struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              PageSpec   `json:"spec,omitempty"`
	Status            PageStatus `json:"status,omitempty"`
}

type PageSpec struct {
	Title string `json:"title"`
	Text  string `json:"text"`
	Seq   string `json:"seq"`
}

type PageStatus struct {
	Bytes      int64              `json:"bytes,omitempty"`
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

type PageList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Page `json:"items"`
}

func (in *Page) DeepCopyInto(out *Page) {
	*out = *in
	in.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	out.Status = *in.Status.DeepCopy()
}

func (in *Page) DeepCopy() *Page {
	out := new(Page)
	in.DeepCopyInto(out)
	return out
}

func (in *Page) DeepCopyObject() runtime.Object { return in.DeepCopy() }

func (in *PageStatus) DeepCopy() *PageStatus {
	out := &PageStatus{Bytes: in.Bytes}
	if in.Conditions != nil {
		out.Conditions = make([]metav1.Condition, len(in.Conditions))
		for i := range in.Conditions {
			in.Conditions[i].DeepCopyInto(&out.Conditions[i])
		}
	}
	return out
}

func (in *PageList) DeepCopyObject() runtime.Object {
	out := &PageList{TypeMeta: in.TypeMeta}
	in.ListMeta.DeepCopyInto(&out.ListMeta)
	if in.Items != nil {
		out.Items = make([]Page, len(in.Items))
		for i := range in.Items {
			in.Items[i].DeepCopyInto(&out.Items[i])
		}
	}
	return out
}
