import type { Client, ClientOptions, Connection } from '@capstan/kube/cluster';
import type { Flags, FlagValues } from './flag.ts';
import type { Io } from './io.ts';

export const CLUSTER_OPTIONS = {
  kubeconfig: { type: 'string', value: 'FILE', help: 'The kubeconfig; default $KUBECONFIG, else ~/.kube/config.' },
  context: { type: 'string', value: 'NAME', help: 'The context in it; default its current one.' },
  namespace: { type: 'string', short: 'n', value: 'NAME', help: 'The namespace; default that of the context.' },
} as const satisfies Flags;

export interface Cluster {
  readonly client: Client;
  /** Where names without a namespace are looked up. */
  readonly namespace: string;
  readonly context: string;
}

/** The cluster that the flags or the surroundings name. Throws ConfigError. */
export async function openCluster(
  flags: FlagValues<typeof CLUSTER_OPTIONS>,
  io: Io,
  { connections, ...options }: Omit<ClientOptions, 'transport'> & { connections?: number } = {},
): Promise<Cluster> {
  // A client takes long to load: commands that need none start without it.
  const { createClient } = await import('@capstan/kube/cluster');
  const connection = await connectTo(flags, io, connections);
  const client = createClient({
    transport: connection,
    userAgent: io.userAgent ?? 'capstan',
    ...(io.clock && { clock: io.clock }),
    ...options,
  });
  return { client, namespace: flags.namespace ?? connection.namespace, context: connection.context };
}

/** The connection alone. Throws ConfigError. */
export function connectTo(
  { kubeconfig, context }: Pick<FlagValues<typeof CLUSTER_OPTIONS>, 'kubeconfig' | 'context'>,
  io: Io,
  connections?: number,
): Promise<Connection> {
  return io.connect({
    env: io.env,
    readFile: io.files.read,
    ...(kubeconfig !== undefined && { kubeconfig }),
    ...(context !== undefined && { context }),
    ...(connections !== undefined && { transport: { connections } }),
    ...(io.clock && { clock: io.clock }),
  });
}

/** Opens a cluster for one command and closes it afterwards. A user waits for the answer, so problems are reported soon. */
export async function withCluster<R>(
  flags: FlagValues<typeof CLUSTER_OPTIONS>,
  io: Io,
  use: (cluster: Cluster) => Promise<R>,
): Promise<R> {
  const cluster = await openCluster(flags, io, { retry: { attempts: 2 }, connections: CONNECTIONS });
  try {
    return await use(cluster);
  } finally {
    await cluster.client.close();
  }
}

/** The connections of a command that ends soon. Each costs a TLS handshake, which takes longer than a request over an open one. */
const CONNECTIONS = 4;
