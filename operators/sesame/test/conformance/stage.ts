// A cluster that the suite runs on, with Sesame in it.
import { readdirSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Client, CustomResourceDefinition, Namespace } from '@capstan/kube';
import { parse } from 'yaml';
import { gatewayKinds } from '../../src/gateway/index.ts';
import { SesameDeployment } from '../../src/kinds/index.ts';
import { CONTROLLER } from '../gateway/controller.ts';

export const CLASS = 'sesame';

export interface StageOptions {
  /** The folder for temporary files. */
  readonly folder: string;
  /** For logs that are checked afterwards; undefined: none are kept. */
  readonly logs: string | undefined;
  /** The folder of `npm run setup:real -- gateway-conformance`. */
  readonly peer: string;
}

export interface Stage {
  readonly kubeconfig: string;
  readonly client: Client;
  /** Returns the resources that Envoys refused, as far as they are known here. */
  refused(): string[];
  end(): Promise<void>;
}

export async function installGatewayApi(client: Client, peer: string): Promise<void> {
  const channel = join(peer, 'crds', 'experimental');
  const names = readdirSync(channel).filter(
    (name) => name.startsWith('gateway.networking.k8s.io_') && !name.includes('_vap_'),
  );
  for (const name of names)
    await client.create(
      CustomResourceDefinition,
      parse(await readFile(join(channel, name), 'utf8')) as CustomResourceDefinition,
    );
}

/** With parameters, every Gateway of the class gets an instance that looks like them. */
export async function createClass(client: Client, parameters?: SesameDeployment['spec']): Promise<void> {
  const ref = { name: 'gateway-parameters', namespace: 'projectsesame' };
  if (parameters) {
    await client.create(Namespace, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: ref.namespace } });
    await client.create(SesameDeployment, {
      apiVersion: SesameDeployment.apiVersion,
      kind: 'SesameDeployment',
      metadata: ref,
      spec: parameters,
    });
  }
  await client.create(gatewayKinds().GatewayClass, {
    apiVersion: 'gateway.networking.k8s.io/v1',
    kind: 'GatewayClass',
    metadata: { name: CLASS },
    spec: {
      controllerName: CONTROLLER,
      ...(parameters && {
        parametersRef: { group: SesameDeployment.group, kind: SesameDeployment.kind, ...ref },
      }),
    },
  });
}
