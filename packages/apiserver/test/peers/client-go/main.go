// Command client-go is Kubernetes' own Go client at work for a test. It writes what it sees in lines of JSON on standard output. An
// informer and a candidate for a lease end when standard input does; the others end when they are done.
//
//	client-go informer KUBECONFIG NAMESPACE
//	client-go leader KUBECONFIG NAMESPACE LEASE IDENTITY
//	client-go kinds KUBECONFIG NAMESPACE
//	client-go applies KUBECONFIG NAMESPACE WORKERS EACH SIZE
//	client-go samples COUNT KIND...
//	client-go decoded
package main

import (
	"context"
	"encoding/json"
	"io"
	"log"
	"os"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

type line struct {
	Event string `json:"event"`
	Name  string `json:"name,omitempty"`
	Word  string `json:"word,omitempty"`
	Count int    `json:"count,omitempty"`
}

var mutex sync.Mutex

func say(what line) {
	mutex.Lock()
	defer mutex.Unlock()
	if err := json.NewEncoder(os.Stdout).Encode(what); err != nil {
		os.Exit(1)
	}
}

func main() {
	switch {
	case len(os.Args) > 2 && os.Args[1] == "samples":
		samples(number(os.Args[2]), os.Args[3:])
		return
	case len(os.Args) == 2 && os.Args[1] == "decoded":
		decoded()
		return
	case len(os.Args) < 4:
		log.Fatal("usage: client-go informer|leader|kinds|applies KUBECONFIG NAMESPACE ..., client-go samples COUNT KIND..., client-go decoded")
	}
	config, err := clientcmd.BuildConfigFromFlags("", os.Args[2])
	if err != nil {
		log.Fatal(err)
	}
	client := kubernetes.NewForConfigOrDie(config)
	ctx, stop := context.WithCancel(context.Background())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		stop()
	}()
	switch os.Args[1] {
	case "leader":
		lead(ctx, client, os.Args[3], os.Args[4], os.Args[5])
	case "kinds":
		kinds(ctx, config, os.Args[3])
	case "applies":
		applies(ctx, config, os.Args[3], number(os.Args[4]), number(os.Args[5]), number(os.Args[6]))
	default:
		inform(ctx, client, os.Args[3])
	}
}

func number(text string) int {
	value, err := strconv.Atoi(text)
	if err != nil {
		log.Fatal(err)
	}
	return value
}

func inform(ctx context.Context, client kubernetes.Interface, namespace string) {
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithNamespace(namespace))
	maps := factory.Core().V1().ConfigMaps()
	tell := func(event string, object any) {
		if gone, ok := object.(cache.DeletedFinalStateUnknown); ok {
			object = gone.Obj
		}
		if found, ok := object.(*corev1.ConfigMap); ok {
			say(line{Event: event, Name: found.Name, Word: found.Data["word"]})
		}
	}
	_, err := maps.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(object any) { tell("add", object) },
		// A relist reports what has not changed, too.
		UpdateFunc: func(before, after any) {
			if before.(*corev1.ConfigMap).ResourceVersion != after.(*corev1.ConfigMap).ResourceVersion {
				tell("update", after)
			}
		},
		DeleteFunc: func(object any) { tell("delete", object) },
	})
	if err != nil {
		log.Fatal(err)
	}
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	say(line{Event: "synced", Count: len(maps.Informer().GetStore().List())})
	<-ctx.Done()
	factory.Shutdown()
}

func lead(ctx context.Context, client kubernetes.Interface, namespace, lease, identity string) {
	leaderelection.RunOrDie(ctx, leaderelection.LeaderElectionConfig{
		Lock: &resourcelock.LeaseLock{
			LeaseMeta:  metav1.ObjectMeta{Namespace: namespace, Name: lease},
			Client:     client.CoordinationV1(),
			LockConfig: resourcelock.ResourceLockConfig{Identity: identity},
		},
		LeaseDuration:   3 * time.Second,
		RenewDeadline:   2 * time.Second,
		RetryPeriod:     200 * time.Millisecond,
		ReleaseOnCancel: false,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(context.Context) { say(line{Event: "leads", Name: identity}) },
			OnStoppedLeading: func() { say(line{Event: "stops", Name: identity}) },
			OnNewLeader:      func(leader string) { say(line{Event: "leader", Name: leader}) },
		},
	})
}
