// Which ReplicaSet belongs to a Deployment's template: the one whose own template is the same but for the label that keeps
// the pods of different templates apart.
import { createHash } from 'node:crypto';
import {
  canonicalJson,
  type Deployment,
  equal,
  type LabelSelector,
  type PodTemplateSpec,
  type ReplicaSet,
} from '@capstan/kube';
import { byCreation } from './rolling-update.ts';

export const HASH_LABEL = 'pod-template-hash';

export function isSameTemplate(a: PodTemplateSpec | undefined, b: PodTemplateSpec | undefined): boolean {
  return equal(withoutHash(a), withoutHash(b));
}

/** The oldest that fits: there is one, unless clocks or people made two. */
export function findNewReplicaSet(deployment: Deployment, sets: readonly ReplicaSet[]): ReplicaSet | undefined {
  return sets.toSorted(byCreation).find((set) => isSameTemplate(set.spec?.template, deployment.spec?.template));
}

/** Changes with the template and with every collision of names. */
export function templateHash(template: PodTemplateSpec | undefined, collisionCount: number | undefined): string {
  const hash = createHash('sha256').update(canonicalJson(withoutHash(template) ?? {}));
  if (collisionCount !== undefined) hash.update(`\0${collisionCount}`);
  return encode(hash.digest().readUInt32BE());
}

export function withHash(template: PodTemplateSpec, hash: string): PodTemplateSpec {
  const labels = { ...template.metadata?.labels, [HASH_LABEL]: hash };
  return { ...template, metadata: { ...template.metadata, labels } };
}

export function selectorWithHash(selector: LabelSelector | undefined, hash: string): LabelSelector {
  return { ...selector, matchLabels: { ...selector?.matchLabels, [HASH_LABEL]: hash } };
}

function withoutHash(template: PodTemplateSpec | undefined): PodTemplateSpec | undefined {
  if (template?.metadata === undefined) return template;
  const { [HASH_LABEL]: _, ...labels } = template.metadata.labels ?? {};
  const { labels: __, ...rest } = template.metadata;
  const metadata = Object.keys(labels).length > 0 ? { ...rest, labels } : rest;
  return { ...template, metadata };
}

/** The number in Kubernetes' alphabet for names: vowels and look-alikes left out. */
function encode(value: number): string {
  let text = '';
  for (let rest = value; text === '' || rest > 0; rest = Math.floor(rest / ALPHABET.length)) {
    text += ALPHABET[rest % ALPHABET.length];
  }
  return text;
}

const ALPHABET = 'bcdfghjklmnpqrstvwxz2456789';
