import { array, conditions, defineKind, type KindOf, object, string } from '@capstan/kube';
import { BROKER_ORIGIN, COMMON } from './group.ts';

const cidrs = () => array(string(), { description: 'May be empty.' });

export const Cluster = defineKind({
  ...COMMON,
  version: 'v1',
  kind: 'Cluster',
  description: 'A cluster that joined; CablePolicies select it by the labels of this object.',
  spec: object(
    {
      cluster_id: string({ minLength: 1, maxLength: 63, pattern: '^[a-z0-9]([-a-z0-9]*[a-z0-9])?$' }),
      color_codes: array(string(), { optional: true, description: 'Not acted on.' }),
      service_cidr: cidrs(),
      cluster_cidr: cidrs(),
      global_cidr: cidrs(),
    },
    {
      rules: [
        {
          rule: `self.cluster_id != '${BROKER_ORIGIN}'`,
          message: `cluster_id must not be ${BROKER_ORIGIN}, which stands for the broker`,
        },
      ],
    },
  ),
  status: object({ conditions: conditions() }),
  printerColumns: [
    { name: 'ID', jsonPath: '.spec.cluster_id' },
    { name: 'Accepted', jsonPath: '.status.conditions[?(@.type=="Accepted")].status' },
    { name: 'Age', jsonPath: '.metadata.creationTimestamp', type: 'date' },
  ],
});
export type Cluster = KindOf<typeof Cluster>;
