import { array, boolean, defineKind, type KindOf, map, object, string, type TypeOf } from '@capstan/kube';
import { COMMON } from './group.ts';

const config = (description: string) => map(string(), { optional: true, description });

/** The fields of an Endpoint. */
export const endpointFields = () => ({
  cluster_id: string({ minLength: 1, maxLength: 63 }),
  cable_name: string({ minLength: 1 }),
  healthCheckIP: string({ optional: true }),
  healthCheckIPs: array(string(), { optional: true }),
  hostname: string(),
  subnets: array(string()),
  private_ip: string(),
  private_ips: array(string(), { optional: true }),
  public_ip: string(),
  public_ips: array(string(), { optional: true }),
  nat_enabled: boolean(),
  backend: string({ description: 'The default driver, for peers that know one only.' }),
  backend_config: config('Of the default driver: udp-port, natt-discovery-port, preferred-server, publicKey, …'),
  backends: array(
    object({
      cable_driver: object({ name: string(), config: config('What the other end must know to use this driver.') }),
    }),
    { optional: true, description: 'Every driver that this gateway offers, in order of preference.' },
  ),
  drivers: string({ optional: true, description: 'The names of all drivers in one text: a column shows one value.' }),
});

/** The spec of an Endpoint, which a Gateway's status repeats. */
export const endpointSpec = () => object(endpointFields());

export const Endpoint = defineKind({
  ...COMMON,
  version: 'v1',
  kind: 'Endpoint',
  description: 'The active gateway of a cluster: where its cables end, and which drivers it offers.',
  spec: endpointSpec(),
  printerColumns: [
    { name: 'Cluster', jsonPath: '.spec.cluster_id' },
    { name: 'Private IP', jsonPath: '.spec.private_ip' },
    { name: 'Public IP', jsonPath: '.spec.public_ip' },
    { name: 'Drivers', jsonPath: '.spec.drivers' },
    { name: 'Age', jsonPath: '.metadata.creationTimestamp', type: 'date' },
  ],
});
export type Endpoint = KindOf<typeof Endpoint>;
export type EndpointSpec = TypeOf<ReturnType<typeof endpointSpec>>;
