import type { SeededRandom } from '@capstan/testing';
import { requestBytes } from './connection.ts';

/** The two forms in which Kubernetes' own kinds are sent. */
export type Form = 'application/json' | 'application/vnd.kubernetes.protobuf';

/** Bytes of an object's JSON, about. */
const SIZE = 2048;
/** The size of everything but the filling. */
const REST = 150;

export const COLLECTION = '/api/v1/namespaces/bench/configmaps';

/** A ConfigMap of 2 KB with random letters in it. */
export function configMap(name: string, random: SeededRandom): object {
  const letters = Array.from({ length: SIZE - REST }, () => random.integer(0, 35).toString(36)).join('');
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data: { seq: '000000', filling: letters } };
}

export const createNamespace = (name: string) =>
  requestBytes('POST', '/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
