// The operator of `npm run bench -- runtime --peer` on controller-runtime: a Page becomes a ConfigMap with its content and a
// status that says so. bench/src/runtime/peer/page-operator.ts is the same operator on Capstan's runtime. It is written as
// its documentation writes operators: typed objects, the cache of the manager, reconciles of a Page when its generation or its
// ConfigMap changes. Flags: -namespace to watch, -write=apply (server-side apply) or update (CreateOrUpdate).
package main

import (
	"context"
	"flag"
	"fmt"
	"os"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	corev1apply "k8s.io/client-go/applyconfigurations/core/v1"
	metav1apply "k8s.io/client-go/applyconfigurations/meta/v1"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
)

const fieldOwner = client.FieldOwner("page-operator")

func main() {
	kubeconfig := flag.String("config", "", "the kubeconfig file")
	namespace := flag.String("namespace", "", "the namespace to watch")
	write := flag.String("write", "apply", "apply or update")
	flag.Parse()
	ctrl.SetLogger(klog.NewKlogr())
	if err := run(*kubeconfig, *namespace, *write); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(kubeconfig, namespace, write string) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	// Without a limit of its own, as Capstan.
	config.QPS = -1
	scheme := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	scheme.AddKnownTypes(groupVersion, &Page{}, &PageList{})
	metav1.AddToGroupVersion(scheme, groupVersion)
	manager, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:  scheme,
		Cache:   cache.Options{DefaultNamespaces: map[string]cache.Config{namespace: {}}},
		Metrics: metricsserver.Options{BindAddress: "0"},
	})
	if err != nil {
		return err
	}
	err = ctrl.NewControllerManagedBy(manager).
		For(&Page{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Owns(&corev1.ConfigMap{}).
		WithOptions(controller.Options{MaxConcurrentReconciles: 16}).
		Complete(&reconciler{Client: manager.GetClient(), scheme: scheme, applies: write == "apply"})
	if err != nil {
		return err
	}
	ctx := ctrl.SetupSignalHandler()
	go func() {
		if manager.GetCache().WaitForCacheSync(ctx) {
			fmt.Println(`{"event":"started"}`)
		}
	}()
	return manager.Start(ctx)
}

type reconciler struct {
	client.Client
	scheme  *runtime.Scheme
	applies bool
}

func (r *reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	page := &Page{}
	if err := r.Get(ctx, request.NamespacedName, page); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	data := map[string]string{
		"seq":        page.Spec.Seq,
		"index.html": fmt.Sprintf("<h1>%s</h1><p>%s</p>", page.Spec.Title, page.Spec.Text),
	}
	labels := map[string]string{"app.kubernetes.io/name": page.Name}
	child := r.update
	if r.applies {
		child = r.apply
	}
	if err := child(ctx, page, labels, data); err != nil {
		return ctrl.Result{}, err
	}
	status := page.Status.DeepCopy()
	status.Bytes = int64(len(data["index.html"]))
	meta.SetStatusCondition(&status.Conditions, metav1.Condition{
		Type:               "Ready",
		Status:             metav1.ConditionTrue,
		Reason:             "Published",
		Message:            "the page is in its ConfigMap",
		ObservedGeneration: page.Generation,
	})
	if equality.Semantic.DeepEqual(status, &page.Status) {
		return ctrl.Result{}, nil
	}
	page.Status = *status
	return ctrl.Result{}, r.Status().Update(ctx, page)
}

// apply writes the child unless the cached one has the content already.
func (r *reconciler) apply(ctx context.Context, page *Page, labels, data map[string]string) error {
	existing := &corev1.ConfigMap{}
	err := r.Get(ctx, client.ObjectKeyFromObject(page), existing)
	if err == nil && equality.Semantic.DeepEqual(existing.Data, data) && equality.Semantic.DeepEqual(existing.Labels, labels) {
		return nil
	}
	if client.IgnoreNotFound(err) != nil {
		return err
	}
	owner := metav1apply.OwnerReference().
		WithAPIVersion(groupVersion.String()).WithKind("Page").WithName(page.Name).WithUID(page.UID).
		WithController(true).WithBlockOwnerDeletion(true)
	configMap := corev1apply.ConfigMap(page.Name, page.Namespace).
		WithLabels(labels).WithOwnerReferences(owner).WithData(data)
	return r.Apply(ctx, configMap, fieldOwner, client.ForceOwnership)
}

func (r *reconciler) update(ctx context.Context, page *Page, labels, data map[string]string) error {
	configMap := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: page.Name, Namespace: page.Namespace}}
	_, err := controllerutil.CreateOrUpdate(ctx, r.Client, configMap, func() error {
		configMap.Labels = labels
		configMap.Data = data
		return controllerutil.SetControllerReference(page, configMap, r.scheme)
	})
	return err
}
