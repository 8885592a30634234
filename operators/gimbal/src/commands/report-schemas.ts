// The schemas of the output with -o json and -o yaml. Fields are only ever added.
import { array, boolean, integer, object, type Schema, string } from '@capstan/kube';

const optional = { optional: true } as const;

export const REPORT_SCHEMAS = {
  'gimbal backends': array(
    object({
      name: string(),
      namespace: string(),
      kind: string({ description: 'DiscoveryBackend, or the alias that the object uses.' }),
      type: string({ ...optional, description: 'kubernetes or openstack.' }),
      state: string({
        description: 'The phase of the backend; in maintenance its stage: Draining, Drained, Restoring.',
      }),
      services: integer(optional),
      endpoints: integer(optional),
      lastSync: string({ ...optional, description: 'When both sides were last compared completely; RFC 3339.' }),
      lastSyncSeconds: integer({ ...optional, description: 'The age of lastSync.' }),
      synced: boolean(),
      errors: array(object({ type: string(), message: string(), statusTime: string() })),
    }),
  ),
} as const satisfies Record<string, Schema>;
