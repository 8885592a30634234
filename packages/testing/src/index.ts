export * from './random.ts';
export * from './virtual-clock.ts';
