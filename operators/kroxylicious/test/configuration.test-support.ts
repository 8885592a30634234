import assert from 'node:assert/strict';
import { type Client, type Deployment, Service } from '@capstan/kube';
import { parse } from 'yaml';
import type { ProxyConfiguration } from '../src/configuration/schema.ts';
import { validateConfiguration } from '../src/index.ts';
import { certificate, configurationOf, NAMESPACE } from './fixtures.ts';

export const issued = await certificate();

/** Returns the configuration that runs, which the validator must accept. */
export async function configured(client: Client, name?: string): Promise<ProxyConfiguration> {
  const text = await configurationOf(client, name);
  const configuration = parse(text) as ProxyConfiguration;
  assert.deepEqual(validateConfiguration(configuration), []);
  assert.ok(text.startsWith('---\n') && !text.endsWith('\n'));
  return configuration;
}

export const serviceOf = (client: Client, name: string) => client.get(Service, { namespace: NAMESPACE, name });

export const portsOf = (found: Service) =>
  found.spec?.ports?.map(({ port, targetPort }) => `${port}->${String(targetPort)}`);

export const mountsOf = ({ spec }: Deployment) =>
  spec?.template.spec?.containers[0]?.volumeMounts?.map(({ name, mountPath }) => `${name} ${mountPath}`);

export const volumesOf = ({ spec }: Deployment) => spec?.template.spec?.volumes?.map(({ name }) => name);

export const containerPorts = ({ spec }: Deployment) =>
  spec?.template.spec?.containers[0]?.ports?.map(({ containerPort, name }) => `${containerPort} ${name}`);

export const root = '/opt/kroxylicious';
