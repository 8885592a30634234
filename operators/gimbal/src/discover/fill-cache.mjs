// Loads the modules of a discoverer under the same flags, and ends. Node writes its compile cache at the end.
import './engine.mjs';
import { enableCompileCache } from 'node:module';

enableCompileCache();
await import('./command/program.ts');
await import('./openstack/open.ts');
