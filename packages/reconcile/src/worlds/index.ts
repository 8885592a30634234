export * from './requirements.ts';
export * from './static-world.ts';
export { createWorld, type World, type WorldOptions } from './world.ts';
export * from './world-set.ts';
