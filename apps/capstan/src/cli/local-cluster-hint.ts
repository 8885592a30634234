import { delimiter, dirname, join } from 'node:path';
import type { Connection, ConnectOptions } from '@capstan/kube/cluster';

export interface Surroundings {
  readonly cwd: string;
  /** Returns the text of a file; undefined when there is none that can be read. */
  read(path: string): Promise<string | undefined>;
}

/**
 * Connects. Where no cluster is configured, the error names the cluster of `capstan up` in this folder, or how to start one. Where such a
 * cluster was stopped, the error of a request names the command that starts it again.
 */
export async function connectWithHint(options: ConnectOptions, surroundings: Surroundings): Promise<Connection> {
  const { CodedError, connect } = await import('@capstan/kube/cluster');
  const { cwd, read } = surroundings;
  try {
    return namingStopped(await connect(options), options, surroundings);
  } catch (error) {
    if (!(error instanceof CodedError) || error.code !== 'kube/NothingConfigured') throw error;
    const kubeconfig = join(cwd, '.capstan', 'kubeconfig');
    const hint =
      (await read(kubeconfig)) === undefined
        ? ', or start a cluster on this machine: capstan up'
        : `; for the cluster in this folder: export KUBECONFIG=${kubeconfig}`;
    const message = error.message.slice(0, error.message.lastIndexOf(`; ${error.remedy}`));
    throw new CodedError(error.code, { message, remedy: `${error.remedy}${hint}` }, { cause: error });
  }
}

function namingStopped(connection: Connection, options: ConnectOptions, surroundings: Surroundings): Connection {
  const named = async <T>(work: Promise<T>): Promise<T> => {
    try {
      return await work;
    } catch (error) {
      throw await explained(error, options, surroundings);
    }
  };
  return {
    ...connection,
    request: (request) => named(connection.request(request)),
    watch: (request) => named(connection.watch(request)),
  };
}

async function explained(error: unknown, options: ConnectOptions, surroundings: Surroundings): Promise<unknown> {
  const { TransportError } = await import('@capstan/kube/cluster');
  if (!(error instanceof TransportError) || error.kind !== 'refused' || !URL.canParse(error.address)) return error;
  const { origin } = new URL(error.address);
  for (const folder of dataFolders(options, surroundings.cwd)) {
    const own = await surroundings.read(join(folder, 'kubeconfig'));
    const lock = await surroundings.read(join(folder, 'lock'));
    if (own === undefined || lock === undefined || !own.includes(`server: ${origin}`)) continue;
    const remedy = `the cluster in ${folder} does not run: capstan up --data ${folder} starts it again`;
    return new TransportError('refused', error.address, { remedy, cause: error });
  }
  return error;
}

/** The folders that could be those of a cluster of `capstan up`: beside the kubeconfig that is used, and here. */
function dataFolders({ kubeconfig, env = {} }: ConnectOptions, cwd: string): readonly string[] {
  const paths = kubeconfig === undefined ? (env['KUBECONFIG'] ?? '').split(delimiter) : [kubeconfig];
  return [...new Set([...paths.filter((path) => path !== '').map((path) => dirname(path)), join(cwd, '.capstan')])];
}
