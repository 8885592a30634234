// Lets Crossplane 2 render the objects that run a package revision. It is built inside of a copy of
// the module, because the renderer is an internal package. The hooks that the package manager calls run with a client that
// finds nothing and notes what is created.
//
//	render             a case a line on standard input, the created objects of each a line on standard output
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane/crossplane-runtime/v2/pkg/test"

	v1 "github.com/crossplane/crossplane/v2/apis/pkg/v1"
	"github.com/crossplane/crossplane/v2/apis/pkg/v1beta1"
	"github.com/crossplane/crossplane/v2/internal/controller/pkg/runtime"
)

type renderCase struct {
	Provider           *v1.ProviderRevision
	Function           *v1.FunctionRevision
	Namespace          string
	RuntimeConfig      *v1beta1.DeploymentRuntimeConfig
	ManagerPullSecrets []corev1.LocalObjectReference
	ImageConfigSecret  string
}

func main() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		given := renderCase{}
		end(json.Unmarshal(lines.Bytes(), &given))
		end(json.NewEncoder(os.Stdout).Encode(render(given)))
	}
	end(lines.Err())
}

func render(given renderCase) []client.Object {
	created := []client.Object{}
	mock := test.NewMockClient()
	mock.MockGet = func(_ context.Context, key client.ObjectKey, _ client.Object) error {
		return kerrors.NewNotFound(schema.GroupResource{}, key.Name)
	}
	mock.MockCreate = func(_ context.Context, object client.Object, _ ...client.CreateOption) error {
		switch object.(type) {
		case *corev1.Service, *corev1.ServiceAccount, *appsv1.Deployment:
			created = append(created, object)
		}
		return nil
	}
	mock.MockUpdate = func(context.Context, client.Object, ...client.UpdateOption) error { return nil }

	options := []runtime.BuilderOption{
		runtime.BuilderWithServiceAccountPullSecrets(given.ManagerPullSecrets),
	}
	if given.RuntimeConfig != nil {
		options = append(options, runtime.BuilderWithRuntimeConfig(given.RuntimeConfig))
	}
	if given.ImageConfigSecret != "" {
		options = append(options, runtime.BuilderWithPullSecrets(given.ImageConfigSecret))
	}
	var hooks runtime.Hooks
	var parent v1.PackageRevisionWithRuntime
	if given.Function != nil {
		hooks, parent = runtime.NewFunctionHooks(mock), given.Function
	} else {
		hooks, parent = runtime.NewProviderHooks(mock), given.Provider
	}
	builder := runtime.NewDeploymentRuntimeBuilder(parent, given.Namespace, options...)
	note(hooks.Pre(context.Background(), parent, builder))
	// The last step waits for a Deployment that is available: here none ever is.
	note(hooks.Post(context.Background(), parent, builder))
	return created
}

func note(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
}

func end(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
