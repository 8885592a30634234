// Conversion webhooks of definitions. All code that reads and writes objects is synchronous, so a missing conversion is thrown. The request
// then waits for the webhook, starts again, and finds the result. Nothing is stored before every conversion that it needs is known.
// https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definition-versioning/
import { createHash } from 'node:crypto';
import type { CustomResourceDefinition, Random, UnknownObject } from '@capstan/kube';
import { CallFailure } from '../admission/call-failure.ts';
import type { CallWebhook } from '../admission/call-webhook.ts';
import { newUid } from '../core.ts';
import { internalError } from '../errors.ts';
import { isObject, textAt } from '../json/copy.ts';

/** An object in another version; throws a ConversionNeeded where the webhook has to be asked first. */
export type Convert = (object: UnknownObject, apiVersion: string) => UnknownObject;

export interface Conversions {
  /** For a definition whose strategy is Webhook; undefined for others. */
  of(crd: CustomResourceDefinition): Convert | undefined;
  /** Runs the work, again after each webhook that it needs. */
  settle<T>(work: () => T | Promise<T>): Promise<T>;
}

export class ConversionNeeded extends Error {
  override readonly name = 'ConversionNeeded';
  readonly crd: CustomResourceDefinition;
  readonly object: UnknownObject;
  readonly apiVersion: string;
  constructor(crd: CustomResourceDefinition, object: UnknownObject, apiVersion: string) {
    super(`${object.apiVersion} ${object.kind} is needed as ${apiVersion}`);
    this.crd = crd;
    this.object = object;
    this.apiVersion = apiVersion;
  }
}

/** As long as kube-apiserver waits. */
const TIMEOUT_SECONDS = 30;
/** The limit of one request: a webhook that never returns the requested result must not be called for ever. */
const MAX_ROUNDS = 200;
const MAX_KEPT = 5_000;
const MAX_KEPT_BYTES = 32 * 1024 * 1024;
const MAX_BATCH = 500;

export function createConversions(
  random: Random,
  call: CallWebhook,
  /** Objects that are probably needed next, all of the same kind. */
  neighbours: (crd: CustomResourceDefinition, object: UnknownObject) => readonly UnknownObject[],
): Conversions {
  const known = createMemory();

  const ask = async ({ crd, object, apiVersion }: ConversionNeeded): Promise<void> => {
    const others = neighbours(crd, object).filter(
      (one) => one.apiVersion !== apiVersion && known.get(keyOf(one, apiVersion)) === undefined,
    );
    const objects = [object, ...others.filter((one) => one !== object).slice(0, MAX_BATCH - 1)];
    const converted = await review(random, call, crd, objects, apiVersion);
    for (const [index, one] of objects.entries()) {
      const result = converted[index];
      if (result) known.set(keyOf(one, apiVersion), result);
    }
  };

  return {
    of(crd) {
      if (crd.spec.conversion?.strategy !== 'Webhook') return undefined;
      return (object, apiVersion) => {
        if (object.apiVersion === apiVersion) return object;
        const found = known.get(keyOf(object, apiVersion));
        if (found === undefined) throw new ConversionNeeded(crd, object, apiVersion);
        const { labels: _labels, annotations: _annotations, ...own } = object.metadata;
        const { labels, annotations } = found.metadata;
        // A webhook may change labels and annotations, and no other metadata.
        const metadata = { ...own, ...(labels && { labels }), ...(annotations && { annotations }) };
        return { ...found, metadata };
      };
    },
    async settle(work) {
      for (let round = 0; ; round += 1) {
        try {
          return await work();
        } catch (error) {
          if (!(error instanceof ConversionNeeded) || round >= MAX_ROUNDS) throw error;
          await ask(error);
        }
      }
    },
  };
}

/** The input of a conversion: everything but the metadata that the server itself writes. */
function keyOf(object: UnknownObject, apiVersion: string): string {
  const { metadata, ...rest } = object;
  const { name, namespace, labels, annotations } = metadata;
  const text = JSON.stringify([apiVersion, rest, name, namespace, labels, annotations]);
  return createHash('sha256').update(text).digest('base64');
}

async function review(
  random: Random,
  call: CallWebhook,
  crd: CustomResourceDefinition,
  objects: readonly UnknownObject[],
  desiredAPIVersion: string,
): Promise<UnknownObject[]> {
  const { clientConfig, conversionReviewVersions = [] } = crd.spec.conversion?.webhook ?? {};
  const version = conversionReviewVersions.find((one) => one === 'v1' || one === 'v1beta1') ?? 'v1';
  const { url, service, caBundle } = clientConfig ?? {};
  const client = {
    ...(url !== undefined && { url }),
    ...(service && { service: { ...service, port: service.port ?? 443, path: service.path ?? '/' } }),
    ...(caBundle && { ca: Buffer.from(caBundle, 'base64').toString('utf8') }),
  };
  const fail = (why: string) =>
    internalError(`conversion webhook for ${objects[0]?.apiVersion}, Kind=${crd.spec.names.kind} failed: ${why}`);
  const uid = newUid(random);
  const apiVersion = `apiextensions.k8s.io/${version}`;
  const request = { uid, desiredAPIVersion, objects };
  let answer: unknown;
  try {
    answer = await call(client, { kind: 'ConversionReview', apiVersion, request }, TIMEOUT_SECONDS);
  } catch (error) {
    if (!(error instanceof CallFailure)) throw error;
    throw fail(error.message.replace(/^failed to call webhook: /, ''));
  }
  const response = isObject(answer) ? answer['response'] : undefined;
  if (!isObject(response)) throw fail('webhook response was absent');
  if (version === 'v1' && response['uid'] !== uid) throw fail(`expected response.uid="${uid}"`);
  if (textAt(response, ['result', 'status']) !== 'Success') {
    throw fail(textAt(response, ['result', 'message']) || 'webhook response was not successful');
  }
  const converted = response['convertedObjects'];
  if (!Array.isArray(converted) || converted.length !== objects.length) {
    throw fail(
      `webhook returned ${Array.isArray(converted) ? converted.length : 0} objects, expected ${objects.length}`,
    );
  }
  return (converted as unknown[]).map((one, index) => {
    const problem = problemOf(one, objects[index], desiredAPIVersion);
    if (problem !== undefined) throw fail(`invalid converted object at index ${index}: ${problem}`);
    return one as UnknownObject;
  });
}

function problemOf(converted: unknown, asked: UnknownObject | undefined, apiVersion: string): string | undefined {
  if (!isObject(converted) || !isObject(converted['metadata'])) return 'it is no object with metadata';
  if (converted['apiVersion'] !== apiVersion) return `invalid groupVersion (required ${apiVersion})`;
  if (converted['kind'] !== asked?.kind) return `invalid kind (required ${asked?.kind})`;
  for (const field of ['name', 'namespace', 'uid'] as const) {
    if ((converted['metadata'][field] ?? '') !== (asked?.metadata[field] ?? '')) return `metadata.${field} was changed`;
  }
  return undefined;
}

/** The results that were used last, bounded in number and bytes. */
function createMemory() {
  const entries = new Map<string, { object: UnknownObject; bytes: number }>();
  let bytes = 0;
  return {
    get(key: string): UnknownObject | undefined {
      const entry = entries.get(key);
      if (!entry) return undefined;
      entries.delete(key);
      entries.set(key, entry);
      return entry.object;
    },
    set(key: string, object: UnknownObject): void {
      const size = JSON.stringify(object).length;
      bytes += size - (entries.get(key)?.bytes ?? 0);
      entries.set(key, { object, bytes: size });
      for (const [oldest, { bytes: freed }] of entries) {
        // The newest conversion is needed next.
        if ((entries.size <= MAX_KEPT && bytes <= MAX_KEPT_BYTES) || oldest === key) break;
        entries.delete(oldest);
        bytes -= freed;
      }
    },
  };
}
