// Which classes the Sesames of a cluster serve, by their Leases, their configurations and the flags of their pods: for `capstan status`, which
// shows HTTPProxies that no Sesame serves.
import { type Client, Deployment, type Kind, type KubeObject, Lease } from '@capstan/kube/cluster';
import { INSTANCE_LABEL, instanceOf } from '../configuration/instance-record.ts';
import { type ClassedObject, classOf, DEFAULT_CLASS, isServed } from '../routing/lookup.ts';

/** Returns the reason why no Sesame serves an HTTPProxy; undefined: one does. */
export type Unserved = (proxy: KubeObject) => string | undefined;

interface Instance {
  readonly namespace: string;
  readonly configuration: string;
}

interface Serving {
  /** Undefined where it is not known: the configuration is a file. */
  readonly isServed: ((source: ClassedObject) => boolean) | undefined;
  /** Undefined: all. */
  readonly namespaces: readonly string[] | undefined;
}

const CONFIGURATION: Kind = {
  group: 'projectsesame.io',
  version: 'v1alpha1',
  apiVersion: 'projectsesame.io/v1alpha1',
  kind: 'SesameConfiguration',
  plural: 'sesameconfigurations',
  scope: 'Namespaced',
};

/** Throws where Leases, configurations or Deployments cannot be read. */
export async function findUnserved(client: Client, now: number, signal: AbortSignal): Promise<Unserved> {
  const { items } = await client.list(Lease, { labelSelector: `${INSTANCE_LABEL}=true`, signal });
  const instances = new Map<string, Instance & { isFile: boolean }>();
  for (const lease of items) {
    const instance = instanceOf(lease);
    if (instance === undefined || instance.expiresAt <= now || instance.record.state === 'Stopped') continue;
    const { namespace = '' } = lease.metadata;
    const { configuration, source } = instance.record;
    instances.set(`${namespace}/${configuration}`, { namespace, configuration, isFile: source === 'file' });
  }
  const serving = await Promise.all(
    [...instances.values()].map(async (one) => (one.isFile ? UNKNOWN : servingOf(client, one, signal))),
  );
  return (proxy) => {
    const { namespace = '' } = proxy.metadata;
    const near = serving.filter(({ namespaces }) => namespaces?.includes(namespace) ?? true);
    if (near.some((one) => one.isServed?.(proxy) ?? true)) return undefined;
    const named = classOf(proxy, { contour: true });
    const asked = named === '' ? `class ${DEFAULT_CLASS} (the HTTPProxy names none)` : `class ${named}`;
    if (instances.size === 0) return `no Sesame serves ${asked}: none runs; create a SesameDeployment`;
    return `no Sesame serves ${asked} in the namespace ${namespace}; set spec.ingressClassName, or ingress.className of a SesameConfiguration`;
  };
}

const UNKNOWN: Serving = { isServed: undefined, namespaces: undefined };

async function servingOf(
  client: Client,
  { namespace, configuration }: Instance,
  signal: AbortSignal,
): Promise<Serving> {
  const [found, { items }] = await Promise.all([
    client.find(CONFIGURATION, { namespace, name: configuration }, { signal }),
    client.list(Deployment, { namespace, signal }),
  ]);
  const flags = items
    .map(serveFlags)
    .find((one) => one !== undefined && (one('sesame-config') ?? 'sesame') === configuration);
  const { ingress } =
    (found as { spec?: { ingress?: { className?: string; classNames?: string[] } } } | undefined)?.spec ?? {};
  const className = flags?.('ingress-class-name') ?? ingress?.className ?? ingress?.classNames?.join(',');
  const watched = flags?.('watch-namespaces')
    ?.split(',')
    .map((name) => name.trim());
  const classes = { className, contour: flags?.('contour-compat') !== undefined };
  return { isServed: (source) => isServed(source, classes), namespaces: watched?.filter((name) => name !== '') };
}

/** The flags of the Sesame that a Deployment runs, by name; undefined for another program. */
function serveFlags({ spec }: Deployment): ((name: string) => string | undefined) | undefined {
  for (const { command = [], args = [] } of spec?.template.spec?.containers ?? []) {
    const line = [...command, ...args];
    const at = line.indexOf('serve');
    if (at < 0) continue;
    return (name) => {
      const index = line.findIndex((word) => word === `--${name}` || word.startsWith(`--${name}=`));
      const word = line[index];
      return word === `--${name}` ? (line[index + 1] ?? '') : word?.slice(name.length + 3);
    };
  }
  return undefined;
}
