// The controllers themselves: routes, listeners and xDS in a runtime of their own, which a change of some fields restarts while the
// process, its servers and its heartbeat go on. The configuration comes in as a source, so that an edit is an ordinary wave.
import { randomBytes } from 'node:crypto';
import { isIP } from 'node:net';
import {
  type Client,
  type Clock,
  type KubeObject,
  type Logger,
  type Random,
  Service,
  untilAborted,
} from '@capstan/kube';
import {
  createRuntime,
  derivation,
  type EventInput,
  type Leadership,
  operator,
  type Reader,
  type SourceTable,
  sink,
  source,
} from '@capstan/reconcile';
import type { EffectiveConfiguration } from '../configuration/index.ts';
import { ExtensionService } from '../kinds/extension-service.ts';
import { HTTPProxy } from '../kinds/http-proxy.ts';
import { TLSCertificateDelegation } from '../kinds/tls-certificate-delegation.ts';
import { httpProxyStatus } from '../reconcilers/http-proxy-status.ts';
import type { RoutingSettings } from '../routing/settings.ts';
import { routeGraph } from '../serving/pieces.ts';
import { xdsSink } from '../serving/xds-sink.ts';
import type { NodeReport } from '../xds/index.ts';
import type { DataPath, RunningDataPath } from './controllers.ts';
import type { Nack } from './instance-record.ts';

export interface DataPathOptions {
  readonly client: Client;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** Who writes statuses; contended for elsewhere. */
  readonly leadership: Leadership;
  readonly namespace: string;
  readonly watchNamespaces: readonly string[] | undefined;
  /** Takes the place of the configured xDS address, for tests. */
  readonly listen?: { readonly address: string; readonly port: number };
  /** Writes an Event about an object. */
  tell?(owner: KubeObject, event: EventInput): void;
  /** Called with the port that was found. */
  onListening?(port: number): void;
}

export function createDataPath(options: DataPathOptions): DataPath {
  return {
    start(configuration, onNacks) {
      const parts = dataPathParts(options, configuration, onNacks);
      const { client, clock, random, logger, namespace, watchNamespaces } = options;
      const leadership: Leadership = {
        get holds() {
          return options.leadership.holds;
        },
        onChange: (listener) => options.leadership.onChange(listener),
        run: untilAborted,
      };
      const runtime = createRuntime({
        operators: [parts.operator],
        clock,
        random,
        logger,
        leadership: () => leadership,
        ...(options.tell && {
          tell: (_world: unknown, _operator: unknown, owner: KubeObject, event: EventInput) =>
            options.tell?.(owner, event),
        }),
      });
      // Nothing that is written depends on it.
      runtime.setDigestKey({ id: 'process', bytes: randomBytes(32) });
      runtime.addWorld({ name: '', client, namespace, ...(watchNamespaces && { watchNamespaces }) });
      const ending = new AbortController();
      const running = runtime.run(ending.signal);
      return {
        async configure(next) {
          parts.put(next);
          await runtime.settle();
        },
        async stop() {
          ending.abort();
          await running;
        },
        readiness() {
          if (!runtime.isSynced)
            return `waiting for ${
              runtime
                .status()
                .worlds.flatMap(({ waitingFor }) => waitingFor)
                .join(', ') || 'caches'
            }`;
          return parts.isListening() ? true : 'waiting for the xDS server';
        },
      } satisfies RunningDataPath;
    },
  };
}

/** The operator of the controllers, and how its configuration is changed. */
export function dataPathParts(
  { listen, onListening }: Pick<DataPathOptions, 'listen' | 'onListening'>,
  first: EffectiveConfiguration,
  onNacks: (nacks: readonly Nack[]) => void,
) {
  let current = first;
  let table: SourceTable<EffectiveConfiguration> | undefined;
  let isListening = false;
  const configurations = source<EffectiveConfiguration>({
    name: 'configuration',
    async open({ table: opened, signal }) {
      table = opened;
      opened.put('', current);
      opened.complete();
      await untilAborted(signal);
      table = undefined;
    },
  });
  const inForce = (read: Reader): EffectiveConfiguration => read.source(configurations).get('') ?? current;
  const settings = derivation<RoutingSettings>({
    name: 'routing-settings',
    compute: ({ read }) => routingSettingsOf(inForce(read)),
  });
  const graph = routeGraph(settings);
  const xds = xdsSink({
    graph,
    ...(listen && { listen }),
    onListening(server) {
      isListening = true;
      onListening?.(server.port);
    },
  });
  const refusals = sink<readonly Nack[]>({
    name: 'refusals',
    of: derivation<readonly Nack[]>({ name: 'refusals', compute: ({ read }) => nacksOf(read, xds) }),
    keys: derivation<readonly string[]>({ name: 'refusals-key', compute: () => [''] }),
    lease: 'none',
    open: () => ({
      take({ changes }) {
        for (const { after } of changes) if (after !== undefined) onNacks(after);
      },
    }),
  });
  return {
    operator: operator({
      name: 'sesame-routes',
      kinds: [HTTPProxy, TLSCertificateDelegation, ExtensionService],
      reconcilers: [httpProxyStatus({ graph, loadBalancer: (read) => addressesOf(read, inForce(read)) })],
      sinks: [xds, refusals],
    }),
    isListening: () => isListening,
    put(next: EffectiveConfiguration) {
      current = next;
      table?.put('', next);
    },
  };
}

/** What routes depend on: an edit of anything else computes none of them again. */
function routingSettingsOf(configuration: EffectiveConfiguration): RoutingSettings {
  const { xdsServer, ingress, envoy, httpproxy, enableExternalNameService, globalExtAuth } = configuration;
  const { rateLimitService, policy, tracing } = configuration;
  const { className } = ingress;
  const { service: _service, managed: _managed, ...routed } = envoy;
  return {
    xdsServer,
    ingress: { className },
    envoy: routed,
    httpproxy,
    enableExternalNameService,
    globalExtAuth,
    rateLimitService,
    policy,
    tracing,
  };
}

const loadBalancerOf = ({ status }: Service) => status?.loadBalancer?.ingress ?? [];

/** Where clients reach Envoy: as configured, else what its Service says. */
function addressesOf(
  read: Reader,
  { ingress, envoy }: EffectiveConfiguration,
): { ingress?: readonly object[] } | undefined {
  const { statusAddress = '' } = ingress;
  if (statusAddress !== '')
    return {
      ingress: statusAddress
        .split(',')
        .map((address) => address.trim())
        .map((address) => (isIP(address) === 0 ? { hostname: address } : { ip: address })),
    };
  const found = read.get(Service, envoy.service, loadBalancerOf) ?? [];
  return found.length === 0 ? undefined : { ingress: found };
}

function nacksOf(read: Reader, xds: ReturnType<typeof xdsSink>): readonly Nack[] {
  const reports: readonly { readonly row: NodeReport }[] = read.sink(xds).reports();
  const nacks = reports.flatMap(({ row }) =>
    row.rejections.map(({ key, message, origins }) => ({
      object: origins[0] ?? key,
      type: key.split('/')[0] ?? key,
      message: `${row.node}: ${message}`,
    })),
  );
  return nacks.toSorted((left, right) => (left.object < right.object ? -1 : 1));
}
