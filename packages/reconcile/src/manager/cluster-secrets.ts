// Other clusters, added and removed while running: a Secret in the system namespace with the label
// `capstan.dev/cluster-role` and a kubeconfig is a world of that role, named like the Secret (or like the role, where the
// role has one cluster). When all Secrets have been listed, the set of worlds is complete.
import {
  type Client,
  type Clock,
  connectKubeconfig,
  createClient,
  createInformers,
  type Logger,
  type Random,
  reasonOf,
  Secret,
  untilAborted,
} from '@capstan/kube/cluster';
import { LOCAL, type Role } from '../reconciler.ts';
import type { Runtime } from '../runtime/index.ts';

/** On a Secret with a kubeconfig: the role of the cluster. */
export const CLUSTER_ROLE_LABEL = 'capstan.dev/cluster-role';
/** Keys of the Secret that may hold the kubeconfig, the first that is there counting. */
const KUBECONFIG_KEYS = ['kubeconfig', 'value', 'config'];

export interface ClusterSecretsOptions {
  client: Client;
  runtime: Runtime;
  /** Those that the operators declare. Secrets of other roles are left alone. */
  roles: readonly Role[];
  namespace: string;
  clock: Clock;
  random: Random;
  logger: Logger;
  userAgent: string;
  signal: AbortSignal;
  /** A client by a kubeconfig's text; default over HTTP, with nothing run or read from this machine's files. */
  connect?: (kubeconfig: string, name: string) => Promise<RemoteCluster>;
}

export interface RemoteCluster {
  readonly client: Client;
  /** Where unqualified names are looked up. */
  readonly namespace: string;
}

/** Runs until the signal is aborted. */
export async function followClusterSecrets(options: ClusterSecretsOptions): Promise<void> {
  const { client, runtime, clock, random, signal } = options;
  const logger = options.logger.with({ part: 'cluster-secrets' });
  const roles = options.roles.filter((role) => role !== LOCAL);
  if (roles.length === 0) return;
  const informers = createInformers({ client, clock, random, logger });
  const { informer } = informers.for(Secret, { namespace: options.namespace, labelSelector: CLUSTER_ROLE_LABEL });
  /** By the Secret's name: the world that it became, and from which content. */
  const added = new Map<string, { world: string; content: string; client: Client }>();
  let working: Promise<void> = Promise.resolve();
  /** One change after the other: a world is gone before its successor comes. */
  const then = (work: () => Promise<void>) => {
    working = working
      .then(work)
      .catch((error: unknown) => logger.error('could not follow a cluster Secret', { error }));
  };

  async function follow(name: string): Promise<void> {
    const secret = informer.get(`${options.namespace}/${name}`);
    const content = secret === undefined ? undefined : contentOf(secret, roles);
    const known = added.get(name);
    if (known?.content === content?.text) return;
    if (known !== undefined) {
      added.delete(name);
      await runtime.removeWorld(known.world);
      await known.client.close();
    }
    if (content === undefined) return;
    if (content.kubeconfig === undefined) {
      logger.error('a cluster Secret has no kubeconfig; put one under the key kubeconfig', { secret: name });
      return;
    }
    try {
      const world = worldName(name, content.role);
      added.set(name, {
        world,
        content: content.text,
        client: await add(name, world, content.role, content.kubeconfig),
      });
    } catch (error) {
      logger.error('could not add the cluster of a Secret; correct the Secret', {
        secret: name,
        error: reasonOf(error),
      });
    }
  }

  async function add(secret: string, world: string, role: Role, kubeconfig: string): Promise<Client> {
    const connect = options.connect ?? connectByHttp;
    const { client: remote, namespace } = await connect(kubeconfig, `the Secret ${options.namespace}/${secret}`);
    try {
      runtime.addWorld({ name: world, role, client: remote, namespace });
      return remote;
    } catch (error) {
      await remote.close();
      throw error;
    }
  }

  async function connectByHttp(kubeconfig: string, name: string): Promise<RemoteCluster> {
    const transport = await connectKubeconfig(kubeconfig, { name, clock, logger });
    const remote = createClient({ transport, userAgent: options.userAgent, clock, logger });
    return { client: remote, namespace: transport.namespace };
  }

  const stop = informer.subscribe((events) => {
    for (const event of events) {
      if (event.type === 'upsert' || event.type === 'delete') {
        const { name = '' } = event.object.metadata;
        then(() => follow(name));
      } else if (informer.isSynced) {
        then(async () => {
          for (const role of roles) runtime.completeWorlds(role);
        });
      }
    }
  });
  await untilAborted(signal);
  stop();
  await informers.close();
  await working;
  await Promise.all([...added.values()].map((one) => one.client.close()));
}

/** The only cluster of a role has the role's name. */
function worldName(secret: string, role: Role): string {
  return SINGLE_ROLES.has(role) ? role : secret;
}

const SINGLE_ROLES: ReadonlySet<Role> = new Set(['broker']);

function contentOf(
  { metadata, data = {} }: Secret,
  roles: readonly Role[],
): { role: Role; kubeconfig: string | undefined; text: string } | undefined {
  const role = metadata.labels?.[CLUSTER_ROLE_LABEL] ?? '';
  if (!roles.includes(role)) return undefined;
  const encoded = KUBECONFIG_KEYS.map((key) => data[key]).find((value) => value !== undefined);
  const kubeconfig = encoded === undefined ? undefined : Buffer.from(encoded, 'base64').toString('utf8');
  return { role, kubeconfig, text: `${role}\n${encoded ?? ''}` };
}
