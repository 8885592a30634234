import { randomBytes } from 'node:crypto';
import { type Client, DaemonSet, Deployment, type Kind, type KubeObject, Namespace } from '@capstan/kube';
import { chosenServer, createStage, type Stage } from '@capstan/testing';
import { createSesame, SesameConfiguration, SesameDeployment } from '../../src/index.ts';

/** A name that no default knows: the same manifests behave alike in every namespace. */
export const NAMESPACE = `edge-${randomBytes(4).toString('hex')}`;
export const at = (name: string) => ({ namespace: NAMESPACE, name });

export const deployment = (spec: object = {}, name = 'edge'): SesameDeployment => ({
  apiVersion: SesameDeployment.apiVersion,
  kind: SesameDeployment.kind,
  metadata: at(name),
  spec,
});

/** A stage with the operator, whose certificates follow the stage's clock. */
export async function staged(given: readonly KubeObject[], check: (stage: Stage) => Promise<void>): Promise<void> {
  let clock: { now(): number } | undefined;
  // Where the clock of a stage starts.
  const start = chosenServer() === 'real' ? Date.now() : Date.UTC(2026, 0, 1);
  const stage = await createStage({
    operators: [createSesame({ now: () => clock?.now() ?? start })],
    given: async (client) => {
      await client.create(Namespace, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: NAMESPACE } });
      for (const object of given) await client.create(kindOf(object), object);
    },
  });
  clock = stage.clock;
  try {
    await check(stage);
  } finally {
    await stage.end();
  }
}

function kindOf(object: KubeObject): Kind {
  const kinds: readonly Kind[] = [SesameDeployment, SesameConfiguration, Deployment, DaemonSet];
  const found = kinds.find(({ kind }) => kind === object.kind);
  if (found === undefined) throw new Error(`no kind ${object.kind} in the fixtures`);
  return found;
}

export async function find(
  client: Client,
  kind: Kind,
  name: string,
  namespace = NAMESPACE,
): Promise<KubeObject | undefined> {
  const { items } = await client.list(kind, namespace === '' ? {} : { namespace });
  return items.find(({ metadata }) => metadata.name === name);
}

export async function conditionOf(client: Client, type: string, name = 'edge') {
  const { status } = await client.get(SesameDeployment, at(name));
  return status?.conditions?.find((condition) => condition.type === type);
}

/** Pods become available, as controllers would report them. */
export async function rollOut(stage: Stage, name = 'edge'): Promise<void> {
  const sesame = await stage.client.get(Deployment, at(`sesame-${name}`));
  const replicas = sesame.spec?.replicas ?? 1;
  await stage.client.patch(
    Deployment,
    at(`sesame-${name}`),
    'merge',
    {
      status: {
        observedGeneration: sesame.metadata.generation,
        replicas,
        updatedReplicas: replicas,
        readyReplicas: replicas,
        availableReplicas: replicas,
      },
    },
    { subresource: 'status' },
  );
  const envoy = await find(stage.client, DaemonSet, `envoy-${name}`);
  if (envoy !== undefined)
    await stage.client.patch(
      DaemonSet,
      at(`envoy-${name}`),
      'merge',
      {
        status: {
          observedGeneration: envoy.metadata.generation,
          currentNumberScheduled: 3,
          desiredNumberScheduled: 3,
          updatedNumberScheduled: 3,
          numberAvailable: 3,
          numberReady: 3,
          numberMisscheduled: 0,
        },
      },
      { subresource: 'status' },
    );
  await stage.settle();
}
