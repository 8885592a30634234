import type { Bench } from './bench.ts';
import { deployments } from './sesame-config/deployments.ts';
import { edits } from './sesame-config/edits.ts';
import { migration } from './sesame-config/migration.ts';

/** Sesame's configuration: how soon an edit is in force, many deployments, and the migration of the file. */
export const sesameConfig: Bench = {
  name: 'sesame-config',
  summary: 'edits of a SesameConfiguration, five hundred SesameDeployments, the migration of a configuration file',
  parts: [edits, deployments, migration],
};
