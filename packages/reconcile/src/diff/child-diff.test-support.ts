import { ConfigMap, type KubeObject, type ManagedFieldsEntry } from '@capstan/kube';
import { apply, type Child } from '../plan/index.ts';
import { childWrite } from './child-diff.ts';
import { inputOf, type Scene } from './diff.test-support.ts';
import type { ApplyWrite } from './writes.ts';

export const metadata = { name: 'a', namespace: 'default' };

export const configMap = (data: Record<string, string> = { x: '1' }) => apply(ConfigMap, { metadata, data });

export const verdict = (child: Child, objects: readonly KubeObject[] = [], scene: Scene = {}) =>
  childWrite(child, inputOf({ ...scene, objects }));

export const bodyOf = (child: Child, objects: readonly KubeObject[] = [], scene: Scene = {}) =>
  (verdict(child, objects, scene).write as ApplyWrite).body;

export const withEntry = <T extends KubeObject>(object: T, entry: ManagedFieldsEntry): T => ({
  ...object,
  metadata: { ...object.metadata, managedFields: [entry] },
});
