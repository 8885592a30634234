// The progress of a Deployment and the reason of its last rollout, for the statuses of KafkaProxy and VirtualKafkaCluster.
import { integer, object, string } from '@capstan/kube';

export const rolloutStatus = () =>
  object(
    {
      configHash: string({ description: 'What the Deployment was last rolled to.' }),
      from: string({ optional: true, description: 'What it ran before.' }),
      reason: string({ optional: true, description: 'What had changed.' }),
      updated: integer({ optional: true }),
      available: integer({ optional: true }),
      wanted: integer({ optional: true }),
    },
    { optional: true },
  );

export const rolledMemory = () =>
  object(
    {
      configHash: string(),
      template: string({ optional: true }),
      from: string({ optional: true }),
      reason: string({ optional: true }),
    },
    { optional: true },
  );
