// Reads from the configuration how HTTP is spoken, and the access logs.
import { jsonField } from '../../configuration/index.ts';
import type { HttpOptions, RateLimitService, TraceTag, Tracing } from '../../model/http-options.ts';
import type { AccessLog } from '../../model/listener.ts';
import type { Origin } from '../../model/origin.ts';
import { extensionClusterName } from '../policy/authorization.ts';
import { errorPage } from '../policy/error-pages.ts';
import type { RoutingSettings } from '../settings.ts';
import { settingTimeout } from '../timeouts.ts';

/** The same value for the same configuration. */
export function httpOptions(settings: RoutingSettings): HttpOptions {
  let found = optionsOf.get(settings);
  if (!found) {
    found = readOptions(settings);
    optionsOf.set(settings, found);
  }
  return found;
}

const optionsOf = new WeakMap<RoutingSettings, HttpOptions>();

function readOptions(settings: RoutingSettings): HttpOptions {
  const { listener, network, timeouts, defaultHTTPVersions } = settings.envoy;
  const maximum = settingTimeout(timeouts.maxConnectionDuration);
  return {
    version: onlyVersion(defaultHTTPVersions),
    idleTimeout: settingTimeout(timeouts.connectionIdleTimeout),
    // A zero would not switch it off; it is left out then.
    maxConnectionDuration: maximum === '0s' ? undefined : maximum,
    maxRequestsPerConnection: listener.maxRequestsPerConnection,
    maxConcurrentStreams: listener.httpMaxConcurrentStreams,
    requestTimeout: settingTimeout(timeouts.requestTimeout),
    streamIdleTimeout: settingTimeout(timeouts.streamIdleTimeout),
    drainTimeout: settingTimeout(timeouts.connectionShutdownGracePeriod),
    delayedCloseTimeout: settingTimeout(timeouts.delayedCloseTimeout),
    allowsChunkedLength: !listener.disableAllowChunkedLength,
    mergesSlashes: !listener.disableMergeSlashes,
    stripsTrailingHostDot: network.stripTrailingHostDot,
    serverHeader: oneOf(SERVER_HEADERS, listener.serverHeaderTransformation) ?? 'overwrite',
    trustedHops: network.numTrustedHops,
    compression: oneOf(COMPRESSIONS, listener.compression.algorithm),
    errorPages: (settings.envoy.errorPages ?? []).map((page, index) => errorPage(page, index, PAGES)),
    rateLimits: rateLimits(settings),
    tracing: tracing(settings),
  };
}

/** The configuration in force, whatever object, file or flag it comes from. */
const PAGES: Origin = { kind: 'SesameConfiguration', namespace: '', name: '', path: 'envoy.errorPages' };

const SERVER_HEADERS = ['overwrite', 'append_if_absent', 'pass_through'] as const;
const COMPRESSIONS = ['gzip', 'brotli', 'zstd'] as const;

function oneOf<Value extends string>(values: readonly Value[], text: string): Value | undefined {
  return values.find((each) => each === text);
}

function onlyVersion(versions: readonly string[]): HttpOptions['version'] {
  const [only] = versions;
  if (versions.length !== 1) return undefined;
  return only?.toUpperCase() === 'HTTP/2' ? 'HTTP/2' : 'HTTP/1.1';
}

function rateLimits({ rateLimitService }: RoutingSettings): RateLimitService | undefined {
  const [namespace, name] = rateLimitService?.extensionService?.split('/') ?? [];
  if (!rateLimitService || !namespace || !name) return undefined;
  return {
    cluster: extensionClusterName(namespace, name),
    domain: rateLimitService.domain === '' ? 'sesame' : rateLimitService.domain,
    failOpen: rateLimitService.failOpen,
    hasHeaders: rateLimitService.enableXRateLimitHeaders,
    isResourceExhausted: rateLimitService.enableResourceExhaustedCode,
  };
}

function tracing({ tracing: settings }: RoutingSettings): Tracing | undefined {
  const [namespace, name] = settings?.extensionService?.split('/') ?? [];
  if (!settings || !namespace || !name) return undefined;
  const custom = (settings.customTags ?? []).map(({ tagName, literal, requestHeaderName }): TraceTag => {
    const isLiteral = literal !== undefined && literal !== '';
    return isLiteral
      ? { name: tagName, kind: 'literal', value: literal }
      : { name: tagName, kind: 'header', value: requestHeaderName ?? '' };
  });
  return {
    cluster: extensionClusterName(namespace, name),
    serviceName: settings.serviceName,
    sampling: {
      overall: Number(settings.overallSampling),
      client: Number(settings.clientSampling),
      random: Number(settings.randomSampling),
    },
    maxPathLength: settings.maxPathTagLength,
    tags: [...(settings.includePodDetail ? POD_TAGS : []), ...custom],
  };
}

const POD_TAGS: readonly TraceTag[] = [
  { name: 'podName', kind: 'environment', value: 'HOSTNAME' },
  { name: 'podNamespace', kind: 'environment', value: 'SESAME_NAMESPACE' },
];

/** Undefined when logs are switched off. */
export function accessLog(path: string, settings: RoutingSettings): AccessLog | undefined {
  const { accessLogFormat, accessLogFormatString, accessLogLevel } = settings.envoy.logging;
  if (accessLogLevel === 'disabled') return undefined;
  const known = logsOf.get(settings) ?? new Map<string, AccessLog>();
  logsOf.set(settings, known);
  let found = known.get(path);
  if (!found) {
    found = {
      path,
      format:
        accessLogFormat === 'json'
          ? { kind: 'json', fields: jsonFields(settings) }
          : { kind: 'text', text: accessLogFormatString },
      leastStatus: { error: 300, critical: 500 }[accessLogLevel],
    };
    known.set(path, found);
  }
  return found;
}

const logsOf = new WeakMap<RoutingSettings, Map<string, AccessLog>>();

function jsonFields({ envoy }: RoutingSettings): Record<string, string> {
  return Object.fromEntries(
    envoy.logging.jsonFields.flatMap((entry): [string, string][] => {
      const field = jsonField(entry);
      return field.isOk ? [[field.value.name, field.value.format]] : [];
    }),
  );
}
