// The projects whose place an operator of Capstan can take: how their programs and the objects that they created are recognised, and the
// order in which to switch.
import type { KubeObject } from '@capstan/kube';
import type { GivenFlags } from '@capstan/reconcile/command-line';

export interface Original {
  readonly operator: string;
  /** The flags with which the operator takes over. */
  readonly flags?: GivenFlags;
  /** Images of its programs. */
  readonly image: RegExp;
  /** API groups of its resources: objects that they own were created by it. */
  readonly groups: readonly string[];
  /** Field managers of its programs. */
  readonly managers: RegExp;
  /** Labels of the objects that it created, by key, with the value where others have the label too. */
  readonly labels: readonly (readonly [key: string, value?: string])[];
  /** The resources with which the operator begins, where the user gives none. */
  readonly given?: readonly KubeObject[];
  /** The resources without which the operator does nothing. */
  readonly needs?: string;
  /** Programs that the operator starts for a resource take these objects over: they have the name of the resource in one of these labels. */
  readonly taken?: { readonly kind: string; readonly labels: readonly string[] };
  /** The steps, in order. */
  order(found: FoundPrograms): readonly string[];
}

export interface FoundPrograms {
  /** Commands that stop the programs. */
  readonly stop: readonly string[];
  readonly install: string;
}

const SESAME_DEPLOYMENT = {
  apiVersion: 'projectsesame.io/v1alpha1',
  kind: 'SesameDeployment',
  metadata: { namespace: 'projectsesame', name: 'sesame' },
  spec: { sesame: { contourCompat: true } },
} as KubeObject;

export const ORIGINALS: Readonly<Record<string, Original>> = {
  contour: {
    operator: 'sesame',
    image: /(?:^|\/)contour(?:[:@]|$)/,
    groups: ['projectcontour.io'],
    managers: /^contour(?:-|$)/,
    labels: [
      ['projectcontour.io/owning-gateway-name'],
      ['app.kubernetes.io/managed-by', 'contour-gateway-provisioner'],
    ],
    given: [SESAME_DEPLOYMENT],
    order: ({ stop, install }) => [
      'translate the configuration: sesame migrate config contour.yaml',
      install,
      'apply a SesameDeployment with spec.sesame.contourCompat: true; its Envoys serve every host beside Contour, and no status is written while Contour holds its Lease',
      'move traffic to the Service of its Envoys',
      ...stop,
    ],
  },
  submariner: {
    operator: 'submariner',
    image: /(?:^|\/)submariner-(?:operator|gateway|route-agent|globalnet)(?:[:@]|$)/,
    groups: ['submariner.io'],
    managers: /^submariner-(?:operator|gateway)/,
    labels: [
      ['app', 'submariner-gateway'],
      ['component', 'submariner'],
    ],
    order: ({ stop, install }) => [
      'begin with the cluster of the broker, then take one member after the other',
      ...stop,
      install,
      'wait until subctl show connections reports every cable of this cluster before the next one',
    ],
  },
  kroxylicious: {
    operator: 'kroxylicious',
    image: /(?:^|\/)(?:kroxylicious-)?operator(?:[:@]|$)/,
    groups: ['kroxylicious.io'],
    managers: /^(?:kroxylicious|fabric8-kubernetes-client|kafkaproxyreconciler|virtualkafkacluster)/,
    labels: [['app.kubernetes.io/managed-by', 'kroxylicious-operator']],
    order: ({ stop, install }) => [...stop, install, 'wait for the rollouts: capstan status'],
  },
  gimbal: {
    operator: 'gimbal',
    image: /(?:^|\/)gimbal-?(?:discoverer)?(?:[:@]|$)/,
    groups: [],
    managers: /^(?:gimbal|kubernetes-discoverer|openstack-discoverer)/,
    labels: [['gimbal.projectcontour.io/backend'], ['gimbal.heptio.com/backend'], ['gimbal.heptio.com/cluster']],
    taken: { kind: 'DiscoveryBackend', labels: ['gimbal.projectcontour.io/backend', 'gimbal.heptio.com/backend'] },
    needs: 'a DiscoveryBackend for each discoverer, with the name of its backend (-f backends.yaml)',
    order: ({ stop, install }) => [
      install,
      'for each backend: stop its discoverer, then apply its DiscoveryBackend',
      ...stop,
    ],
  },
  crossplane: {
    operator: 'crossplane',
    image: /(?:^|\/)crossplane(?:[:@]|$)/,
    groups: ['pkg.crossplane.io'],
    managers: /^(?:crossplane|apiextensions\.crossplane|pkg\.crossplane)/,
    labels: [['pkg.crossplane.io/revision'], ['pkg.crossplane.io/provider'], ['pkg.crossplane.io/function']],
    order: ({ stop, install }) => [
      'convert ControllerConfigs, where there are any: crossplane beta convert runtime-config',
      ...stop,
      install,
      'take the finalizers of the former package manager off its revisions (operators/crossplane/README.md)',
    ],
  },
};

/** Reports whether the original created the object. */
export function isCreatedBy({ metadata }: KubeObject, { groups, managers, labels }: Original): boolean {
  const { ownerReferences = [], managedFields = [], labels: own = {} } = metadata;
  return (
    ownerReferences.some(({ apiVersion }) => groups.includes(apiVersion.split('/')[0] ?? '')) ||
    labels.some(([key, value]) => own[key] !== undefined && (value === undefined || own[key] === value)) ||
    managedFields.some(({ manager = '', subresource }) => subresource === undefined && managers.test(manager))
  );
}
