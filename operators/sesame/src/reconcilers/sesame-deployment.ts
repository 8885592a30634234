// A SesameDeployment becomes a running Sesame with its Envoy. Its configuration is propagated always, valid or not, so that errors
// show on the SesameConfiguration too; pods and Services follow only a valid one.
import {
  ClusterRole,
  ClusterRoleBinding,
  DaemonSet,
  Deployment,
  equal,
  keyOfObject,
  PodDisruptionBudget,
  Role,
  RoleBinding,
  refOfKey,
  Secret,
  Service,
  ServiceAccount,
} from '@capstan/kube';
import {
  apply,
  type Child,
  conditionType,
  derivation,
  type GroupInput,
  index,
  mint,
  type Plan,
  plan,
  type Reader,
  type Reconciler,
  reading,
  reconciler,
  writing,
} from '@capstan/reconcile';
import { createPkiMinter, type PkiMinter, sideSecrets } from '../certificates/rotation.ts';
import { type Effective, effectiveConfiguration, type Problem } from '../configuration/index.ts';
import { warningAt } from '../configuration/problem.ts';
import { instanceConfiguration } from '../deployment/configuration.ts';
import { envoyDaemonSet, envoyDeployment, envoyDisruptionBudget } from '../deployment/envoy-workload.ts';
import {
  envoyYields,
  type Instance,
  type InstanceId,
  isEnvoyDeployment,
  metadataOf,
  names,
  POD_ACCOUNTS,
  sesameYields,
  watchedNamespaces,
} from '../deployment/instance.ts';
import {
  clusterRole,
  clusterRoleBinding,
  GRANTED_AT_CLUSTER,
  GRANTED_IN_NAMESPACES,
  ownRole,
  ownRoleBinding,
  serviceAccounts,
  watchedRoles,
} from '../deployment/rbac.ts';
import { envoyService, sesameService } from '../deployment/services.ts';
import { sesameDeployment, sesameDisruptionBudget } from '../deployment/sesame-workload.ts';
import { type InstanceState, instanceConditions, instanceCounts } from '../deployment/status.ts';
import { deploymentProblems } from '../deployment/validate-deployment.ts';
import { daemonSetHealth, deploymentHealth, type WorkloadHealth } from '../deployment/workload-health.ts';
import { runningEnvoys } from '../deployment/xds-mode.ts';
import { type GatewayClass as GatewayClassObject, gatewayKinds } from '../gateway/api/objects.ts';
import { gatewayShape } from '../gateway/provisioning/gateway-shape.ts';
import {
  CONFIGURATION_ALIASES,
  type ConfigurationSpec,
  SesameConfiguration,
  SesameDeployment,
  type SesameDeploymentSpec,
} from '../kinds/index.ts';
import type { Settings } from '../settings.ts';
import { release } from './deployment-release.ts';

const { Gateway, GatewayClass } = gatewayKinds();

export function createSesameDeploymentReconciler(settings: Settings): Reconciler {
  const minter = createPkiMinter(settings);
  return reconciler<SesameDeployment>({
    name: 'sesame-deployment',
    resource: SesameDeployment,
    reads: [
      reading(Deployment, 'owned'),
      reading(DaemonSet, 'owned'),
      reading(SesameConfiguration, 'owned'),
      reading(Secret, 'referenced'),
      reading(Gateway, 'everywhere', { optional: true }),
      reading(GatewayClass, 'everywhere', { optional: true }),
    ],
    writes: [
      ServiceAccount,
      // Sesame gets rights that the operator itself does not need.
      writing(ClusterRole, 'apply', { grants: { cluster: GRANTED_AT_CLUSTER } }),
      ClusterRoleBinding,
      writing(Role, 'apply', { grants: { namespaced: GRANTED_IN_NAMESPACES } }),
      RoleBinding,
      // Besides creating it: a finalizer of a Sesame that no longer runs is taken off.
      writing(SesameConfiguration, ['apply', 'patch']),
      writing(Secret, ['apply', 'mint']),
      // Users may give Envoy volumes of any kind.
      writing(Deployment, 'apply', { podAccounts: POD_ACCOUNTS, podPowers: ['hostPaths'] }),
      writing(DaemonSet, 'apply', { podAccounts: POD_ACCOUNTS, podPowers: ['hostPaths'] }),
      Service,
      PodDisruptionBudget,
    ],
    reconcile: ({ object, read }) => reconcile(object, read, settings, minter),
    release: ({ object, read }) => release(idOf(object), object.spec ?? {}, read),
  });
}

/** SesameDeployments by the GatewayClasses whose parameters they are. */
const classesByParameters = index(GatewayClass, 'parameters', ({ spec: { parametersRef: ref } }) =>
  ref?.kind === SesameDeployment.kind && ref.group === SesameDeployment.group && ref.namespace
    ? [`${ref.namespace}/${ref.name}`]
    : [],
);

const classOf = ({ metadata, spec }: GatewayClassObject) => ({ name: metadata.name, controller: spec.controllerName });

/** The class that it is the parameters of: it is deployed for each Gateway of the class, and not by itself. */
function parametersOf(object: SesameDeployment, read: Reader, { gatewayControllerName }: Settings): string | undefined {
  if (read.access(GatewayClass) !== 'served') return undefined;
  return read
    .by(classesByParameters, keyOfObject(object), classOf)
    .find(({ controller }) => controller === gatewayControllerName)?.name;
}

function reconcile(object: SesameDeployment, read: Reader, settings: Settings, minter: PkiMinter): Plan {
  const className = parametersOf(object, read, settings);
  // A running instance is left alone: a class must not take an ingress down.
  if (className !== undefined)
    return plan({
      prune: false,
      conditions: [
        deployed.isFalse(
          'ParametersOnly',
          `GatewayClass ${className} uses it as parameters; it is not deployed itself`,
        ),
      ],
    });
  const id = idOf(object);
  const spec = object.spec ?? {};
  const { given, configuration: value, errors, warnings } = read.derived(meaning, keyOfObject(object));
  const state: Omit<InstanceState, 'waitingFor'> = {
    sesame: read.get(Deployment, { namespace: id.namespace, name: names.sesame(id) }, deploymentHealth),
    envoy: envoyHealth(read, id, isEnvoyDeployment({ spec })),
    errors,
    warnings,
    reported: reportedBy(read, id),
  };
  const gateway = gatewayShape(read, Gateway, value.gateway.gatewayRef);
  const instance: Instance = { ...id, spec, configuration: value, settings, gateway };
  const configuration = apply(SesameConfiguration, {
    metadata: metadataOf(instance, names.configuration(id)),
    spec: given,
  });
  if (errors.length > 0)
    return plan({
      prune: false,
      children: [configuration],
      conditions: instanceConditions({ ...state, waitingFor: undefined }),
      progress: instanceCounts(id, state),
    });
  const { groups, waitingFor } = groupsOf(instance, read, configuration, minter);
  return plan({
    groups,
    conditions: instanceConditions({ ...state, waitingFor }),
    progress: instanceCounts(id, state),
  });
}

export interface Meaning {
  /** The configuration of the instance, as it is propagated. */
  readonly given: ConfigurationSpec;
  readonly configuration: Effective['value'];
  readonly errors: readonly Problem[];
  readonly warnings: readonly Problem[];
}

const specOf = ({ spec }: SesameDeployment) => spec ?? {};

/** The meaning of a spec: computed once for each spec, however often pods and objects wake its reconcile. */
const meaning = derivation<Meaning>({
  name: 'deployment-meaning',
  compute({ key, read }) {
    const ref = refOfKey(key);
    const id = { name: ref.name, namespace: ref.namespace ?? '' };
    return deploymentMeaning(read.get(SesameDeployment, ref, specOf) ?? {}, id);
  },
});

/** Returns the meaning of the spec of a deployment of this name, and all its problems. */
export function deploymentMeaning(
  spec: NonNullable<SesameDeployment['spec']>,
  id: { readonly name: string; readonly namespace: string },
): Meaning {
  const given = instanceConfiguration(spec.configuration, id);
  const effective = effectiveConfiguration({
    given: spec.configuration === undefined ? given : withManaged(given, spec.configuration),
    watchNamespaces: watchedNamespaces({ spec, namespace: id.namespace }),
    isManaged: true,
  });
  const below = (problem: Problem) => ({ ...problem, path: `configuration.${problem.path}` });
  return {
    given,
    configuration: effective.value,
    errors: [...effective.errors.map(below), ...deploymentProblems(spec)],
    warnings: [...effective.warnings.map(below), ...misspelt(spec)],
  };
}

/** For validation: `envoy.managed` is checked where the user wrote it. */
function withManaged(
  given: ReturnType<typeof instanceConfiguration>,
  configuration: NonNullable<SesameDeployment['spec']>['configuration'],
): unknown {
  const managed = configuration?.envoy?.managed;
  return managed === undefined ? given : { ...given, envoy: { ...given.envoy, managed } };
}

/** The user's object keeps its spelling; the status shows which one is meant. */
function misspelt(spec: SesameDeploymentSpec): Effective['warnings'] {
  return CONFIGURATION_ALIASES.flatMap((alias) => {
    const given = (spec as Readonly<Record<string, unknown>>)[alias];
    if (given === undefined) return [];
    return equal(given, spec.configuration)
      ? [warningAt(alias, 'FieldNormalised', 'Deprecated', 'is read as configuration; correct the spelling')]
      : [warningAt(alias, 'FieldIgnored', 'Ignored', 'is ignored, because there is a configuration too; remove it')];
  });
}

function groupsOf(
  instance: Instance,
  read: Reader,
  configuration: Child,
  minter: PkiMinter,
): { groups: GroupInput[]; waitingFor: string | undefined } {
  const { namespace, settings } = instance;
  const watched = watchedRoles(instance);
  const isSecure = !instance.configuration.xdsServer.insecure;
  const envoys = { namespace, name: names.envoy(instance) };
  const pki = { namespace, name: names.pki(instance) };
  const inputs = {
    namespace,
    sesameService: names.sesame(instance),
    envoyService: names.envoy(instance),
    clusterDomain: settings.clusterDomain,
  };
  const sides = isSecure ? read.get(Secret, pki, sideSecrets) : undefined;
  const waitingFor = isSecure && sides === undefined ? 'certificates' : undefined;
  const certificate = (name: string, data: NonNullable<typeof sides>['sesame']): Child =>
    apply(Secret, { metadata: metadataOf(instance, name), type: 'kubernetes.io/tls', data: { ...data } });
  return {
    waitingFor,
    groups: [
      {
        name: 'permissions',
        children: [
          ...serviceAccounts(instance).map((account) => apply(ServiceAccount, account)),
          apply(ClusterRole, clusterRole(instance)),
          apply(Role, ownRole(instance)),
          ...watched.roles.map((role) => apply(Role, role)),
        ],
      },
      {
        name: 'bindings',
        children: [
          apply(ClusterRoleBinding, clusterRoleBinding(instance)),
          apply(RoleBinding, ownRoleBinding(instance)),
          ...watched.bindings.map((binding) => apply(RoleBinding, binding)),
        ],
      },
      { name: 'configuration', children: [configuration] },
      { name: 'keys', children: isSecure ? [mint(Secret, pki, minter, inputs)] : [] },
      {
        name: 'certificates',
        open: waitingFor === undefined,
        ...(waitingFor === undefined ? {} : { waitingFor }),
        children:
          sides === undefined
            ? []
            : [
                certificate(names.sesameCertificate(instance), sides.sesame),
                certificate(names.envoyCertificate(instance), sides.envoy),
              ],
      },
      {
        name: 'sesame',
        children: [
          apply(Deployment, sesameDeployment(instance), { yields: sesameYields(instance) }),
          apply(Service, sesameService(instance)),
        ],
      },
      {
        name: 'envoy',
        children: [
          isEnvoyDeployment(instance)
            ? apply(Deployment, envoyDeployment(instance, read.get(Deployment, envoys, runningEnvoys)), {
                yields: envoyYields(instance),
              })
            : apply(DaemonSet, envoyDaemonSet(instance, read.get(DaemonSet, envoys, runningEnvoys))),
          // A Gateway whose listeners can none be served has no ports, and a Service must have one.
          ...(instance.gateway?.ports.length === 0 ? [] : [apply(Service, envoyService(instance))]),
          apply(PodDisruptionBudget, sesameDisruptionBudget(instance)),
          ...(isEnvoyDeployment(instance) ? [apply(PodDisruptionBudget, envoyDisruptionBudget(instance))] : []),
        ],
      },
    ],
  };
}

function envoyHealth(read: Reader, id: InstanceId, isDeployment: boolean): WorkloadHealth | undefined {
  const ref = { namespace: id.namespace, name: names.envoy(id) };
  return isDeployment ? read.get(Deployment, ref, deploymentHealth) : read.get(DaemonSet, ref, daemonSetHealth);
}

/** Returns Sesame's verdict about the configuration, if it is about the newest one. */
const validityOf = ({ metadata, status }: SesameConfiguration) => {
  const valid = status?.conditions?.find(({ type }) => type === 'Valid');
  if (valid?.status !== 'False' || valid.observedGeneration !== metadata.generation) return undefined;
  return [valid.message, ...(valid.errors ?? []).map(({ message }) => message)].join('; ');
};

function reportedBy(read: Reader, id: InstanceId): string | undefined {
  return read.get(SesameConfiguration, { namespace: id.namespace, name: names.configuration(id) }, validityOf);
}

const deployed = conditionType<'ParametersOnly'>('Available');

function idOf({ metadata }: SesameDeployment): InstanceId {
  return { name: metadata.name ?? '', namespace: metadata.namespace ?? '' };
}
