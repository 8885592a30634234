// The schemas of the output with -o json and -o yaml. Fields are only ever added.
import { anyObject, anyValue, array, boolean, number, object, type Schema, string } from '@capstan/kube';

const optional = { optional: true } as const;
const strings = (description?: string) => array(string(), { ...(description !== undefined && { description }) });

const route = object({
  match: string(),
  from: string({ ...optional, description: 'The object that it comes from, as Kind namespace/name.' }),
  field: string({ ...optional, description: 'The field of that object, such as spec.routes[1].' }),
  through: array(string(), {
    ...optional,
    description: 'The includes that lead to that object, the root first: Kind namespace/name, field.',
  }),
  answer: string({ ...optional, description: 'What it does when it sends to no Service.' }),
  effects: strings('Effects of its policies.'),
  services: array(
    object({
      cluster: string({ description: 'The name of the cluster in Envoy.' }),
      service: string({ description: 'namespace/name, with the port.' }),
      share: number({ description: 'In percent.' }),
      endpoints: strings('ADDRESS:PORT of those that are ready.'),
      effects: strings('Effects of policies of the Service, each with the field that it comes from.'),
    }),
  ),
  isUnconditional: boolean({ description: 'Every request for the path that reaches it takes it.' }),
});

export const REPORT_SCHEMAS = {
  'sesame explain': object({
    host: string(),
    path: string(),
    servedAs: string({ ...optional, description: 'The host as it is configured; absent when nothing serves it.' }),
    listeners: array(
      object({
        name: string(),
        address: string(),
        filters: strings('Filters that a request passes, in order.'),
        effects: strings('Effects of policies on all requests of the host, each with the field that it comes from.'),
        routes: array(route, { description: 'In the order in which Envoy tries them.' }),
      }),
    ),
    problems: strings('What is wrong with the objects of the host.'),
  }),
  'sesame config show': anyObject({ description: 'spec of a SesameConfiguration, with the defaults filled in.' }),
  'sesame config show --origin': array(
    object({
      path: string(),
      value: anyValue({ ...optional, nullable: true }),
      origin: string({ description: 'default, resource NAME, file PATH, flag --NAME or environment NAME.' }),
    }),
  ),
  'sesame cli': object({
    version_info: string(optional),
    type_url: string(),
    resources: array(anyObject(), {
      description: 'In the JSON form of Envoy’s protobuf messages, without private keys and other secrets.',
    }),
    removed_resources: array(string(), { ...optional, description: 'With --delta.' }),
  }),
} as const satisfies Record<string, Schema>;
