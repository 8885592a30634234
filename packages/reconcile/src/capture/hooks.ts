// Where a recorder and a replay meet the runtime: the engine carries the inputs, the runtime the frame around them.
import type { Engine, EngineRecorder, EngineReplay } from '../engine/index.ts';
import type { World } from '../worlds/index.ts';

/** A cluster as the runtime was given it. */
export interface RecordedWorld {
  readonly name: string;
  readonly role: string;
  readonly watchNamespaces?: readonly string[];
  readonly namespace?: string;
  readonly operators?: readonly string[];
}

export interface RuntimeRecorder {
  readonly engine: EngineRecorder;
  worldAdded(world: RecordedWorld): void;
  worldRemoved(name: string): void;
  /** Sinks that serve have served, or were waited for long enough: reconcilers begin. */
  served(): void;
  /** The name of a derivation whose results are plans. */
  plans(name: string): void;
  lease(operator: string, holds: boolean): void;
}

export interface RuntimeReplay {
  readonly engine: EngineReplay;
  /** The runtime is there: the replay moves it from wave to wave. */
  begin(driver: ReplayDriver): void;
  /** A world without a server, as the history has it. */
  world(world: World): World;
  plans(name: string): void;
}

export interface ReplayDriver {
  readonly engine: Engine;
  /** Runs one wave, and hands over its changes. */
  wave(): void;
  served(): void;
}
