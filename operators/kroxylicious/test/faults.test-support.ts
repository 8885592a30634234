import { type Client, type KubeObject } from '@capstan/kube';
import { parse } from 'yaml';
import type { ProxyConfiguration } from '../src/configuration/schema.ts';
import {
  balancerIngress,
  certificate,
  cluster,
  configurationOf,
  proxy,
  service,
  tcpIngress,
  tlsIngress,
  tlsSecret,
} from './fixtures.ts';

export const [issued, other] = await Promise.all([certificate(), certificate()]);

/** Returns a healthy cluster, to which each test adds a faulty one. */
export const healthy = (): KubeObject[] => [
  proxy(),
  service(),
  tcpIngress(),
  tlsIngress(),
  balancerIngress(),
  tlsSecret('server', issued),
  cluster('healthy'),
];

export const tls = (more: object = {}, ingress = 'tls') => ({
  ingresses: [{ ingressRef: { name: ingress }, tls: { certificateRef: { name: 'server' }, ...more } }],
});

export const clusterNames = async (client: Client) =>
  (parse(await configurationOf(client)) as ProxyConfiguration).virtualClusters.map(({ name }) => name);
