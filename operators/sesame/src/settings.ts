import { dnsName, type Flags, type FlagValues, flagDefaults, notEmpty } from '@capstan/reconcile/command-line';

/** The operator's own flags: `sesame operator --image=…`, and `--sesame.image=…` of Capstan's commands. */
export const FLAGS = {
  image: {
    type: 'string',
    value: 'IMAGE',
    default: 'capstan:0.1.0',
    parse: notEmpty('give the name of an image'),
    help: 'The image of Sesame, which has the shutdown manager and the bootstrap command too.',
  },
  'envoy-image': {
    type: 'string',
    value: 'IMAGE',
    default: 'docker.io/envoyproxy/envoy:distroless-v1.39.0',
    parse: notEmpty('give the name of an image'),
    help: 'The image of Envoy.',
  },
  'gateway-controller-name': {
    type: 'string',
    value: 'DOMAIN/PATH',
    default: 'projectsesame.io/gateway-controller',
    parse: notEmpty('give a name such as projectsesame.io/gateway-controller'),
    help: 'Gateways of GatewayClasses with this controller get an instance each.',
  },
  'cluster-domain': {
    type: 'string',
    value: 'DOMAIN',
    default: 'cluster.local',
    parse: dnsName('use a DNS name, such as cluster.local'),
    help: 'What host names of Services end in.',
  },
} as const satisfies Flags;

/** The settings that the operator is started with. */
export interface Settings {
  readonly image: string;
  readonly envoyImage: string;
  readonly clusterDomain: string;
  readonly gatewayControllerName: string;
  /** Milliseconds since the epoch: for certificates. */
  now(): number;
}

/** Returns the settings that the flags ask for. */
export function settingsOf(values: FlagValues<typeof FLAGS>): Settings {
  return {
    image: values.image,
    envoyImage: values['envoy-image'],
    clusterDomain: values['cluster-domain'],
    gatewayControllerName: values['gateway-controller-name'],
    now: () => Date.now(),
  };
}

export const DEFAULT_SETTINGS: Settings = settingsOf(flagDefaults(FLAGS));
