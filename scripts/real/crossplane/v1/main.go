// Lets Crossplane 1.20 render the objects that run a package revision, and convert a ControllerConfig. It is built inside of a copy of
// the module, because the renderer is an internal package. The hooks that the package manager calls run with a client that
// finds nothing and notes what is created.
//
//	render             a case a line on standard input, the created objects of each a line on standard output
//	convert FILE       the DeploymentRuntimeConfig of a ControllerConfig
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
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane/crossplane-runtime/pkg/test"

	pkgmetav1 "github.com/crossplane/crossplane/apis/pkg/meta/v1"
	v1 "github.com/crossplane/crossplane/apis/pkg/v1"
	"github.com/crossplane/crossplane/apis/pkg/v1alpha1"
	"github.com/crossplane/crossplane/apis/pkg/v1beta1"
	"github.com/crossplane/crossplane/cmd/crank/beta/convert/deploymentruntime"
	"github.com/crossplane/crossplane/internal/controller/pkg/revision"
)

type renderCase struct {
	Provider           *v1.ProviderRevision
	Function           *v1.FunctionRevision
	ProviderMeta       *pkgmetav1.Provider
	FunctionMeta       *pkgmetav1.Function
	Namespace          string
	RuntimeConfig      *v1beta1.DeploymentRuntimeConfig
	ControllerConfig   *v1alpha1.ControllerConfig
	ManagerPullSecrets []corev1.LocalObjectReference
	ImageConfigSecret  string
}

func main() {
	if len(os.Args) == 3 && os.Args[1] == "convert" {
		command := &deploymentruntime.Cmd{InputFile: os.Args[2]}
		end(command.AfterApply())
		end(command.Run())
		return
	}
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

	options := []revision.RuntimeManifestBuilderOption{
		revision.RuntimeManifestBuilderWithServiceAccountPullSecrets(given.ManagerPullSecrets),
	}
	if given.RuntimeConfig != nil {
		options = append(options, revision.RuntimeManifestBuilderWithRuntimeConfig(given.RuntimeConfig))
	}
	if given.ControllerConfig != nil {
		options = append(options, revision.RuntimeManifestBuilderWithControllerConfig(given.ControllerConfig))
	}
	if given.ImageConfigSecret != "" {
		options = append(options, revision.RuntimeManifestBuilderWithPullSecrets(given.ImageConfigSecret))
	}
	var hooks revision.RuntimeHooks
	var parent v1.PackageRevisionWithRuntime
	var meta runtime.Object
	if given.Function != nil {
		hooks, parent, meta = revision.NewFunctionHooks(mock, "xpkg.crossplane.io"), given.Function, given.FunctionMeta
	} else {
		hooks, parent, meta = revision.NewProviderHooks(mock, "xpkg.crossplane.io"), given.Provider, given.ProviderMeta
	}
	builder := revision.NewRuntimeManifestBuilder(parent, given.Namespace, options...)
	note(hooks.Pre(context.Background(), meta, parent, builder))
	// The last step waits for a Deployment that is available: here none ever is.
	note(hooks.Post(context.Background(), meta, parent, builder))
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
