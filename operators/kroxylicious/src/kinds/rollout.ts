// How far a Deployment is and why it was rolled, as the statuses of KafkaProxy and VirtualKafkaCluster tell it.
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
