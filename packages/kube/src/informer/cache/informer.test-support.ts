import { createRandom, createVirtualClock, type VirtualClock } from '@capstan/testing';
import type { InformerOptions } from '../informer.ts';
import { type ScriptedServer, type Thing } from '../scripted-server.test-support.ts';
import { type Stage, stage } from '../stage.test-support.ts';

export const start = (
  prepare?: (server: ScriptedServer) => void,
  options?: Partial<InformerOptions<Thing>>,
): Promise<Stage<VirtualClock>> => stage(createVirtualClock(), createRandom(7), prepare, options);

export const things = (count: number) => (server: ScriptedServer) => {
  for (let i = 0; i < count; i++) server.put(`t${String(i).padStart(4, '0')}`, { value: i });
};
