import { defaultConfiguration } from '../configuration/index.ts';
import type { RoutingSettings } from './settings.ts';

/** The defaults for tests and measurements: on loopback, without TLS to Envoy and without logs. */
export function testSettings(change: (settings: Mutable<RoutingSettings>) => void = () => undefined): RoutingSettings {
  const defaults: RoutingSettings = defaultConfiguration();
  const settings = structuredClone(defaults) as Mutable<RoutingSettings>;
  settings.xdsServer = { ...settings.xdsServer, address: '127.0.0.1', port: 0, insecure: true };
  for (const endpoint of [settings.envoy.http, settings.envoy.https]) {
    endpoint.address = '127.0.0.1';
    endpoint.accessLog = '/dev/null';
  }
  for (const endpoint of [settings.envoy.metrics, settings.envoy.health]) endpoint.address = '127.0.0.1';
  settings.envoy.network.adminPort = 0;
  change(settings);
  return settings;
}

export type Mutable<T> = T extends readonly (infer Item)[]
  ? Mutable<Item>[]
  : T extends object
    ? { -readonly [Key in keyof T]: Mutable<T[Key]> }
    : T;
