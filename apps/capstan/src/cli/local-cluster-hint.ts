import { join } from 'node:path';
import type { Connection, ConnectOptions } from '@capstan/kube/cluster';

export interface Surroundings {
  readonly cwd: string;
  exists(path: string): Promise<boolean>;
}

/** Connects; where no cluster is configured, the error names the cluster of `capstan up` in this folder, or how to start one. */
export async function connectWithHint(options: ConnectOptions, { cwd, exists }: Surroundings): Promise<Connection> {
  const { CodedError, connect } = await import('@capstan/kube/cluster');
  try {
    return await connect(options);
  } catch (error) {
    if (!(error instanceof CodedError) || error.code !== 'kube/NothingConfigured') throw error;
    const kubeconfig = join(cwd, '.capstan', 'kubeconfig');
    const hint = (await exists(kubeconfig))
      ? `; for the cluster in this folder: export KUBECONFIG=${kubeconfig}`
      : ', or start a cluster on this machine: capstan up';
    const message = error.message.slice(0, error.message.lastIndexOf(`; ${error.remedy}`));
    throw new CodedError(error.code, { message, remedy: `${error.remedy}${hint}` }, { cause: error });
  }
}
