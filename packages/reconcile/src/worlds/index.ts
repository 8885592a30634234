export * from './requirements.ts';
export * from './world.ts';
