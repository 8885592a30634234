// The keys of a Secret that hold credentials. Only these keys are copied, compared and shown to the discoverer. A note or a label that is
// added to the Secret changes nothing.
import type { Secret } from '@capstan/kube';
import type { Parsed } from '../backend/fields.ts';
import { KUBECONFIG_KEYS } from '../discover/kubernetes/connect.ts';
import { CLOUD_KEYS } from '../discover/openstack/credentials.ts';
import type { EffectiveBackend } from '../kinds/index.ts';

/** By key, in base64, as Secrets hold them. */
export type SecretData = Readonly<Record<string, string>>;

export const dataOf = ({ data }: Secret): SecretData => data ?? {};

/** The keys that count for a type of backend. */
export function credentialsIn(type: EffectiveBackend['type'], data: SecretData): Parsed<SecretData> {
  if (type === 'kubernetes') {
    const key = KUBECONFIG_KEYS.find((one) => data[one] !== undefined && data[one] !== '');
    if (key === undefined)
      return { fault: `it has none of the keys ${KUBECONFIG_KEYS.join(', ')}: put a kubeconfig there` };
    return { value: { [key]: data[key] ?? '' } };
  }
  const found: Record<string, string> = {};
  for (const key of Object.values(CLOUD_KEYS).flat()) {
    const value = data[key];
    if (value !== undefined && value !== '') found[key] = value;
  }
  const has = (name: keyof typeof CLOUD_KEYS) => CLOUD_KEYS[name].some((key) => found[key] !== undefined);
  const isApplication = has('applicationId') || has('applicationSecret');
  const needed = isApplication ? APPLICATION : PASSWORD;
  const missing = needed.filter((name) => !has(name)).map((name) => CLOUD_KEYS[name][0]);
  return missing.length === 0 ? { value: found } : { fault: `it has no ${missing.join(', ')}` };
}

/** The address may come from the backend's own field instead. */
const APPLICATION = ['applicationId', 'applicationSecret'] as const;
const PASSWORD = ['username', 'password', 'project'] as const;

/** Returns the backend that the Secret names, if it names one. */
export function backendNameIn(data: SecretData): string | undefined {
  const text = data['backend-name'];
  return text === undefined ? undefined : decoded(text).trim();
}

export function decoded(base64: string): string {
  return Buffer.from(base64, 'base64').toString('utf8');
}
