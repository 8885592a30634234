// The exporter's settings by the environment variables that OpenTelemetry defines:
// https://opentelemetry.io/docs/specs/otel/protocol/exporter/ and …/configuration/sdk-environment-variables/

import type { Logger } from '@capstan/kube/cluster';
import { TracingErrors } from '../errors.ts';
import { type Sampler, samplerNamed } from './sampler.ts';
import type { Attributes } from './tracer.ts';

export interface OtlpConfig {
  url: string;
  /** May hold credentials: never printed. */
  headers: Readonly<Record<string, string>>;
  resource: Attributes;
  sampler: Sampler;
  isCompressed: boolean;
  /** The timeout of one request; default 10,000. */
  timeoutMs: number;
  /** Between exports; default 5,000. */
  delayMs: number;
  /** Spans that wait; more are dropped. Default 2,048. */
  queueSize: number;
  /** Spans of one request; default 512. */
  batchSize: number;
}

export type Environment = Readonly<Record<string, string | undefined>>;

/** The settings, or undefined when no exporter is configured. */
export function otlpConfig(environment: Environment, serviceName: string, logger: Logger): OtlpConfig | undefined {
  // An empty variable counts as unset.
  const get = (name: string) => environment[name]?.trim() || undefined;
  const ofTraces = (name: string) => get(`OTEL_EXPORTER_OTLP_TRACES_${name}`) ?? get(`OTEL_EXPORTER_OTLP_${name}`);
  const url = urlOf(get);
  if (url === undefined || get('OTEL_SDK_DISABLED')?.toLowerCase() === 'true') return undefined;
  const exporters = (get('OTEL_TRACES_EXPORTER') ?? 'otlp').split(',').map((name) => name.trim());
  if (!exporters.includes('otlp')) return undefined;

  const protocol = ofTraces('PROTOCOL') ?? 'http/json';
  if (protocol !== 'http/json') {
    logger.warn('traces are exported by http/json; the protocol asked for is not supported', { protocol });
  }
  const batchSize = positive(get('OTEL_BSP_MAX_EXPORT_BATCH_SIZE'), 512);
  return {
    url,
    headers: { ...pairsOf(get('OTEL_EXPORTER_OTLP_HEADERS')), ...pairsOf(get('OTEL_EXPORTER_OTLP_TRACES_HEADERS')) },
    resource: {
      'service.name': serviceName,
      ...pairsOf(get('OTEL_RESOURCE_ATTRIBUTES')),
      ...(get('OTEL_SERVICE_NAME') === undefined ? {} : { 'service.name': get('OTEL_SERVICE_NAME') ?? '' }),
    },
    sampler: chooseSampler(get('OTEL_TRACES_SAMPLER'), get('OTEL_TRACES_SAMPLER_ARG'), logger),
    isCompressed: ofTraces('COMPRESSION') === 'gzip',
    timeoutMs: positive(ofTraces('TIMEOUT'), 10_000),
    delayMs: positive(get('OTEL_BSP_SCHEDULE_DELAY'), 5_000),
    queueSize: Math.max(batchSize, positive(get('OTEL_BSP_MAX_QUEUE_SIZE'), 2_048)),
    batchSize,
  };
}

/** The address for traces counts as it is; the one for all signals is a base. */
function urlOf(get: (name: string) => string | undefined): string | undefined {
  const own = get('OTEL_EXPORTER_OTLP_TRACES_ENDPOINT');
  if (own !== undefined) return checked('OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', own).href;
  const base = get('OTEL_EXPORTER_OTLP_ENDPOINT');
  if (base === undefined) return undefined;
  const url = checked('OTEL_EXPORTER_OTLP_ENDPOINT', base);
  url.pathname = `${url.pathname.replace(/\/$/, '')}/v1/traces`;
  return url.href;
}

function checked(variable: string, address: string): URL {
  const url = URL.parse(address);
  if (url === null || !['http:', 'https:'].includes(url.protocol)) throw TracingErrors.BadEndpoint(variable);
  return url;
}

function chooseSampler(name = 'parentbased_always_on', argument: string | undefined, logger: Logger): Sampler {
  const sampler = samplerNamed(name, argument);
  if (sampler !== undefined) return sampler;
  logger.warn('the sampler that OTEL_TRACES_SAMPLER names is not known; every trace is kept', { sampler: name });
  return () => true;
}

/** `a=1,b=two%20words` */
function pairsOf(text: string | undefined): Record<string, string> {
  const pairs = (text ?? '').split(',').map((pair) => pair.split('='));
  return Object.fromEntries(
    pairs
      .filter(([key = '', ...value]) => key.trim() !== '' && value.length > 0)
      .map(([key = '', ...value]) => [key.trim(), decode(value.join('=').trim())]),
  );
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function positive(text: string | undefined, otherwise: number): number {
  const value = Number(text);
  return Number.isFinite(value) && value > 0 ? value : otherwise;
}
