// Configs and pods of the tests of sidecars.
import { applyJsonPatch, type KubeObject, type Pod } from '@capstan/kube';
import type { AdmissionResponse } from '@capstan/reconcile/webhook';
import { KroxyliciousSidecarConfig, type SidecarSpec } from '../../src/index.ts';

export const cluster = (more: object = {}) => ({
  name: 'my-cluster',
  targetBootstrapServers: 'kafka.example:9092',
  bootstrapPort: 9092,
  ...more,
});

/** Returns a spec as the server stores it, with defaults. */
export function spec(more: object = {}): SidecarSpec {
  return { virtualClusters: [cluster()], managementPort: 9082, setBootstrapEnvVar: true, ...more };
}

export function config(name: string, more: object = {}, namespace = 'demo-app', generation = 1) {
  return {
    apiVersion: KroxyliciousSidecarConfig.apiVersion,
    kind: KroxyliciousSidecarConfig.kind,
    metadata: { namespace, name, generation },
    spec: spec(more),
  } as KroxyliciousSidecarConfig & KubeObject;
}

export function pod(more: { metadata?: object; spec?: object } = {}): Pod {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { namespace: 'demo-app', name: 'app', ...more.metadata },
    spec: { containers: [{ name: 'app', image: 'example.org/app:1' }], ...more.spec },
  };
}

/** Returns the pod to which the server has applied an answer. */
export function admitted(given: Pod, { patch }: AdmissionResponse): Pod {
  if (patch === undefined) return given;
  return applyJsonPatch(given, JSON.parse(Buffer.from(patch, 'base64').toString('utf8'))) as Pod;
}
