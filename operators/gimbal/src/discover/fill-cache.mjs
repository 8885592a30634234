// Loads what a discoverer loads, under the same flags, and ends: Node writes its cache then.
import './engine.mjs';
import { enableCompileCache } from 'node:module';

enableCompileCache();
await import('./command/program.ts');
await import('./openstack/open.ts');
