import { type KubeObject } from '@capstan/kube';
import {
  certificate,
  cluster,
  configMap,
  filter,
  opaque,
  proxy,
  service,
  tcpIngress,
  tlsIngress,
  tlsSecret,
} from '../fixtures.ts';

export const [first, renewed] = await Promise.all([certificate(), certificate()]);

/** Returns objects with all inputs of a configuration: a filter with a Secret and a ConfigMap, TLS on both sides, two clusters. */
export const everything = (): KubeObject[] => [
  proxy(),
  service({
    bootstrapServers: 'kafka.example:9092',
    tls: { certificateRef: { name: 'client' }, trustAnchorRef: { name: 'upstream-ca', key: 'ca.pem' } },
  }),
  tcpIngress(),
  tlsIngress(),
  filter({ kms: { password: '${secret:kms:password}' }, rules: '${configmap:rules:rules.txt}' }),
  opaque('kms', { password: 'correct horse', unused: 'x' }),
  configMap('rules', { 'rules.txt': 'all', other: 'x' }),
  configMap('upstream-ca', { 'ca.pem': first.ca }),
  tlsSecret('client', first),
  tlsSecret('server', first),
  cluster('one', { filterRefs: [{ name: 'encryption' }] }),
  configMap('clients', { 'ca.pem': first.ca }),
  cluster('two', {
    ingresses: [
      {
        ingressRef: { name: 'tls' },
        tls: { certificateRef: { name: 'server' }, trustAnchorRef: { name: 'clients', key: 'ca.pem' } },
      },
    ],
  }),
];
