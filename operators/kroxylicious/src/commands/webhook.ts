import { systemClock } from '@capstan/kube';
import { createLogger } from '@capstan/reconcile';
import { CLUSTER_OPTIONS, command, type Flags, notEmpty, openCluster, refuse } from '@capstan/reconcile/command-line';
import { parseFeatureGates } from '../sidecar/cluster-features.ts';
import { serveWebhook } from '../sidecar/serve.ts';

/** Every flag can also be set by an environment variable, with the name that the original program uses. */
const options = {
  kubeconfig: CLUSTER_OPTIONS.kubeconfig,
  context: CLUSTER_OPTIONS.context,
  'kroxylicious-image': {
    type: 'string',
    value: 'IMAGE',
    env: 'KROXYLICIOUS_IMAGE',
    default: 'quay.io/kroxylicious/proxy:0.23.0',
    parse: notEmpty('give the name of an image'),
    help: 'The image of sidecars whose config names none.',
  },
  'bind-address': {
    type: 'string',
    value: 'HOST:PORT',
    env: 'BIND_ADDRESS',
    default: '0.0.0.0:8443',
    parse: (text: string) => {
      const match = /^(.+):(\d{1,5})$/.exec(text);
      const port = Number(match?.[2]);
      if (match?.[1] === undefined || port > 65_535) return refuse('write HOST:PORT, as in 0.0.0.0:8443 or [::]:8443');
      return { host: match[1].replace(/^\[(.*)\]$/, '$1'), port };
    },
    help: 'Where it listens.',
  },
  'tls-cert-path': {
    type: 'string',
    value: 'FILE',
    env: 'TLS_CERT_PATH',
    default: '/etc/webhook/tls/tls.crt',
    help: 'Its certificate, in PEM; a renewed one is taken without a restart.',
  },
  'tls-key-path': {
    type: 'string',
    value: 'FILE',
    env: 'TLS_KEY_PATH',
    default: '/etc/webhook/tls/tls.key',
    help: 'The key of the certificate, in PEM.',
  },
  'uninjected-pod-policy': {
    type: 'string',
    oneOf: ['Admit', 'Deny'],
    env: 'UNINJECTED_POD_POLICY',
    default: 'Admit',
    help: 'What happens to pods for which there is no usable KroxyliciousSidecarConfig.',
  },
  'feature-gates': {
    type: 'string',
    value: 'GATE=BOOL,…',
    env: 'K8S_FEATURE_GATES',
    default: '',
    parse: (text: string) =>
      parseFeatureGates(text) ?? refuse('write gates between commas, as in SidecarContainers=true,ImageVolume=false'),
    help: 'What the cluster can do, where its version does not show it.',
  },
} as const satisfies Flags;

export default command({
  usage: 'webhook [flags]',
  description:
    'Runs the webhook that puts a Kroxylicious proxy beside the containers of new pods, as the KroxyliciousSidecarConfig of their\n' +
    'namespace specifies. The operator runs it itself; this is for installations of your own.',
  examples: ['kroxylicious webhook --tls-cert-path=tls.crt --tls-key-path=tls.key'],
  options,
  async run({ flags }, io) {
    const clock = io.clock ?? systemClock;
    const logger = createLogger({ clock, format: 'json', level: 'info', write: io.stderr });
    const { client } = await openCluster({ ...flags, namespace: undefined }, io);
    try {
      await serveWebhook(
        {
          client,
          clock,
          random: Math.random,
          logger,
          ...flags['bind-address'],
          image: flags['kroxylicious-image'],
          denyUninjected: flags['uninjected-pod-policy'] === 'Deny',
          gates: flags['feature-gates'],
          readPair: async () => ({
            cert: await io.files.read(flags['tls-cert-path']),
            key: await io.files.read(flags['tls-key-path']),
          }),
        },
        io.signal,
      );
    } finally {
      await client.close();
    }
    return 0;
  },
});
