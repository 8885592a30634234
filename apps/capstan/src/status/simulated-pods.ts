import { type Client, isForbidden, isNotFound, keyOfObject, Node, Pod } from '@capstan/kube/cluster';

/** As @capstan/node marks them, which a command that reads need not load. */
const SIMULATED = 'capstan.dev/simulated';

export interface SimulatedPods {
  /** `namespace/name`, sorted. */
  readonly pods: readonly string[];
  /** Pods of the same nodes that really run, or wait. */
  readonly others: number;
}

export function isSimulated({ metadata }: Pod): boolean {
  return metadata.annotations?.[SIMULATED] === 'true';
}

/** Pods that an embedded cluster's nodes only simulate; undefined where there is no such node, or it may not be asked about. */
export async function simulatedPods(
  client: Client,
  namespace: string | undefined,
  signal: AbortSignal,
): Promise<SimulatedPods | undefined> {
  try {
    const { items } = await client.list(Node, { signal });
    const nodes = items.filter(({ status }) => status?.nodeInfo?.containerRuntimeVersion.startsWith('capstan://'));
    if (nodes.length === 0) return undefined;
    const pods: string[] = [];
    let others = 0;
    for (const { metadata } of nodes) {
      const where = { fieldSelector: `spec.nodeName=${metadata.name}`, ...(namespace !== undefined && { namespace }) };
      for await (const page of client.pages(Pod, { ...where, signal })) {
        const simulated = page.items.filter(isSimulated);
        pods.push(...simulated.map(keyOfObject));
        others += page.items.length - simulated.length;
      }
    }
    return { pods: pods.toSorted(), others };
  } catch (error) {
    if (isForbidden(error) || isNotFound(error)) return undefined;
    throw error;
  }
}
