package main

import (
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"io"
	"log"
	"reflect"
	"strings"

	extensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/retry"
	aggregator "k8s.io/kube-aggregator/pkg/client/clientset_generated/clientset"
)

//go:embed kinds.yaml
var manifests []byte

// kinds creates, reads, updates, patches and deletes an object of every kind through its typed client, and updates the status where
// the client can. What goes wrong is said, and everything else is tried all the same.
func kinds(ctx context.Context, config *rest.Config, namespace string) {
	config.QPS = -1
	core := kubernetes.NewForConfigOrDie(config)
	more := extensions.NewForConfigOrDie(config)
	aggregated := aggregator.NewForConfigOrDie(config)
	addGroups()
	groups := []any{
		core.CoreV1(), core.AppsV1(), core.EventsV1(), core.AutoscalingV2(), core.NetworkingV1(), core.PolicyV1(), core.RbacV1(),
		core.AdmissionregistrationV1(), core.SchedulingV1(), core.CoordinationV1(), core.DiscoveryV1(), core.BatchV1(), core.NodeV1(), core.StorageV1(),
		more.ApiextensionsV1(), aggregated.ApiregistrationV1(),
	}
	documents := yaml.NewYAMLReader(newReader(bytes.ReplaceAll(manifests, []byte("NAMESPACE"), []byte(namespace))))
	for {
		document, err := documents.Read()
		if err == io.EOF {
			break
		}
		if err != nil {
			log.Fatal(err)
		}
		object, kind, err := scheme.Codecs.UniversalDeserializer().Decode(document, nil, nil)
		if err != nil {
			log.Fatal(err)
		}
		name := kind.GroupVersion().String() + " " + kind.Kind
		client, found := clientOf(groups, object, namespace)
		if !found {
			say(line{Event: "problem", Name: name, Word: "there is no typed client"})
			continue
		}
		if err := exercise(ctx, client, object); err != nil {
			say(line{Event: "problem", Name: name, Word: err.Error()})
			continue
		}
		say(line{Event: "kind", Name: name})
	}
	say(line{Event: "done"})
}

// clientOf finds the client whose Create takes the object.
func clientOf(groups []any, object runtime.Object, namespace string) (reflect.Value, bool) {
	for _, group := range groups {
		value := reflect.ValueOf(group)
		for index := range value.NumMethod() {
			method := value.Method(index)
			if method.Type().NumOut() != 1 || method.Type().NumIn() > 1 {
				continue
			}
			create, found := method.Type().Out(0).MethodByName("Create")
			if !found || create.Type.NumIn() != 3 || create.Type.In(1) != reflect.TypeOf(object) {
				continue
			}
			var arguments []reflect.Value
			if method.Type().NumIn() == 1 {
				arguments = []reflect.Value{reflect.ValueOf(namespace)}
			}
			return method.Call(arguments)[0], true
		}
	}
	return reflect.Value{}, false
}

func exercise(ctx context.Context, client reflect.Value, wanted runtime.Object) error {
	call := func(verb string, arguments ...any) (runtime.Object, error) {
		values := []reflect.Value{reflect.ValueOf(ctx)}
		for _, argument := range arguments {
			values = append(values, reflect.ValueOf(argument))
		}
		results := client.MethodByName(verb).Call(values)
		if err, failed := results[len(results)-1].Interface().(error); failed {
			return nil, fmt.Errorf("%s: %w", verb, err)
		}
		if len(results) == 1 {
			return nil, nil
		}
		return results[0].Interface().(runtime.Object), nil
	}
	object, err := call("Create", wanted, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	if err := contains(wanted, object); err != nil {
		return fmt.Errorf("Create: %w", err)
	}
	access, err := meta.Accessor(object)
	if err != nil {
		return err
	}
	// The server's own controllers write definitions, too.
	err = retry.RetryOnConflict(retry.DefaultRetry, func() error {
		if object, err = call("Get", access.GetName(), metav1.GetOptions{}); err != nil {
			return err
		}
		if access, err = meta.Accessor(object); err != nil {
			return err
		}
		access.SetLabels(map[string]string{"step": "updated"})
		object, err = call("Update", object, metav1.UpdateOptions{})
		return err
	})
	if err != nil {
		return err
	}
	patch := []byte(`{"metadata":{"annotations":{"step":"patched"}}}`)
	for _, form := range []types.PatchType{types.MergePatchType, types.StrategicMergePatchType} {
		if form == types.StrategicMergePatchType && strings.Contains(reflect.TypeOf(object).String(), "CustomResource") {
			continue
		}
		if object, err = call("Patch", access.GetName(), form, patch, metav1.PatchOptions{}); err != nil {
			return err
		}
	}
	if client.MethodByName("UpdateStatus").IsValid() {
		if object, err = call("UpdateStatus", withStatusOf(object, wanted), metav1.UpdateOptions{}); err != nil {
			return err
		}
	}
	if object, err = call("Get", access.GetName(), metav1.GetOptions{}); err != nil {
		return err
	}
	if err := contains(wanted, object); err != nil {
		return fmt.Errorf("Get: %w", err)
	}
	if access, err = meta.Accessor(object); err != nil {
		return err
	}
	if access.GetLabels()["step"] != "updated" || access.GetAnnotations()["step"] != "patched" {
		return fmt.Errorf("the update or the patch is lost: %v %v", access.GetLabels(), access.GetAnnotations())
	}
	if _, err = call("List", metav1.ListOptions{}); err != nil {
		return err
	}
	_, err = call("Delete", access.GetName(), metav1.DeleteOptions{})
	return err
}

func withStatusOf(object, wanted runtime.Object) runtime.Object {
	object = object.DeepCopyObject()
	status := reflect.ValueOf(wanted).Elem().FieldByName("Status")
	if status.IsValid() && !status.IsZero() {
		reflect.ValueOf(object).Elem().FieldByName("Status").Set(status)
	}
	return object
}

// contains says what is in the wanted object and not in the other one. Defaults may come on top.
func contains(wanted, got runtime.Object) error {
	left, err := runtime.DefaultUnstructuredConverter.ToUnstructured(wanted)
	if err != nil {
		return err
	}
	right, err := runtime.DefaultUnstructuredConverter.ToUnstructured(got)
	if err != nil {
		return err
	}
	for name, value := range left {
		if name != "apiVersion" && name != "kind" && name != "metadata" && name != "status" {
			if err := within(name, value, right[name]); err != nil {
				return err
			}
		}
	}
	return nil
}

func within(path string, wanted, got any) error {
	switch wanted := wanted.(type) {
	case map[string]any:
		fields, _ := got.(map[string]any)
		for name, value := range wanted {
			if err := within(path+"."+name, value, fields[name]); err != nil {
				return err
			}
		}
		return nil
	case []any:
		items, _ := got.([]any)
		if len(items) != len(wanted) {
			return fmt.Errorf("%s has %d items instead of %d", path, len(items), len(wanted))
		}
		for index, value := range wanted {
			if err := within(fmt.Sprintf("%s[%d]", path, index), value, items[index]); err != nil {
				return err
			}
		}
		return nil
	}
	if wanted != nil && !reflect.DeepEqual(wanted, got) {
		return fmt.Errorf("%s is %v instead of %v", path, got, wanted)
	}
	return nil
}
