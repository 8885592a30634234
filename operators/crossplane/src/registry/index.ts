export type { RegistryAccess } from './access.ts';
export { createFolderStore } from './folder-store.ts';
export { createMemoryStore } from './memory-store.ts';
export { type RegistryOptions, type RunningRegistry, startRegistry } from './registry.ts';
export type { RegistryStore } from './store.ts';
