// From a revision and its configuration to the objects that run it. The result is complete: applying it removes every field that it no
// longer contains, so a field that leaves a config leaves the Deployment.
import type { Deployment, Service, ServiceAccount } from '@capstan/kube';
import type { ChildObject } from '@capstan/reconcile';
import type { RuntimeConfig } from '../runtime-config.ts';
import { type ControllerConfig, overlayControllerConfig } from './controller-config.ts';
import type { RevisionIdentity } from './labels.ts';
import { runtimeNames } from './names.ts';
import { renderDeployment } from './render-deployment.ts';
import { endpointOf, renderService } from './render-service.ts';
import { renderServiceAccount } from './render-service-account.ts';

/** The facts about a revision that are known once it can run. */
export interface RuntimeRevision extends RevisionIdentity {
  readonly uid: string;
  /** The package's own, fully qualified (runtimeImage). */
  readonly image: string;
  /** The package's pull policy; IfNotPresent if it sets none. */
  readonly pullPolicy?: string | undefined;
  /** Names of the package's pull secrets. */
  readonly pullSecrets: readonly string[];
  /** Absent: no certificate is mounted and nothing is served with it. */
  readonly tlsServerSecretName?: string | undefined;
  readonly tlsClientSecretName?: string | undefined;
}

export interface RenderInput {
  readonly revision: RuntimeRevision;
  readonly config: RuntimeConfig;
  /** Where ControllerConfigs are honoured (stages.ts): laid over everything else. */
  readonly controllerConfig?: ControllerConfig | undefined;
  /** The pull secret that an ImageConfig has for the package's image. */
  readonly imageConfigPullSecret?: string | undefined;
  /** Where everything runs: the manager's namespace. */
  readonly namespace: string;
  /** Pull secrets of the manager's own ServiceAccount, which those of packages get too. */
  readonly managerPullSecrets?: readonly string[];
  /** Pull secrets that a ServiceAccount which is not ours alone has already: its list can only be written as a whole. */
  readonly foundPullSecrets?: readonly string[];
}

export interface RenderedRuntime {
  readonly deployment: ChildObject<Deployment>;
  readonly service: ChildObject<Service>;
  /** Undefined when the pods run as an account that another client takes care of: it is neither made nor touched. */
  readonly serviceAccount: ChildObject<ServiceAccount> | undefined;
  /** The account of the pods. */
  readonly serviceAccountName: string;
  /** For Functions: where they are called. */
  readonly endpoint: string | undefined;
  /** The fields of the config that were overlaid, for its author. */
  readonly notes: readonly RenderNote[];
}

export interface RenderNote {
  readonly reason:
    | 'TemplateImageReplaced'
    | 'TemplatePullPolicyReplaced'
    | 'TemplateSelectorReplaced'
    | 'TemplateEntryReplaced';
  /** In the config. */
  readonly path: string;
  readonly message: string;
}

/** The objects that run a revision. */
export function renderRuntime(input: RenderInput): RenderedRuntime {
  const names = runtimeNames(input.revision, input.config);
  const { deployment, notes } = renderDeployment(input, names);
  const rendered: RenderedRuntime = {
    deployment,
    service: renderService(input, names, deployment),
    serviceAccount: names.podServiceAccount === names.serviceAccount ? renderServiceAccount(input, names) : undefined,
    serviceAccountName: names.podServiceAccount,
    endpoint: input.revision.kind === 'Function' ? endpointOf(names.service, input.namespace) : undefined,
    notes,
  };
  return input.controllerConfig === undefined
    ? rendered
    : overlayControllerConfig(rendered, input.controllerConfig, input);
}
