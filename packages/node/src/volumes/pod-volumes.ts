// The volumes of one pod as folders below its own, kept as their sources are.
import { mkdir, rm } from 'node:fs/promises';
import { join, normalize } from 'node:path';
import type { Container, Pod, Volume } from '@capstan/kube';
import { writeAtomically } from './atomic-folder.ts';
import { type VolumeSources, volumeContent, volumeKind } from './volume-files.ts';

export interface PodVolumes {
  /** Writes the changes; returns a sentence if a required object is missing. */
  refresh(): Promise<string | undefined>;
  /** Where each of a container's mounts is on the machine; subPathExpr is filled in by `expandPath`. */
  pathsOf(container: Container, expandPath: (text: string) => string): Map<string, string>;
  folderOf(volume: string): string;
}

export interface PodVolumesOptions {
  folder: string;
  volumes: readonly Volume[];
  sources: VolumeSources;
  /** Names the folders of each version: seconds and more, as in `2026_01_01_00_00_00.000`. */
  stamp(): string;
}

export function createPodVolumes({ folder, volumes, sources, stamp }: PodVolumesOptions): PodVolumes {
  const folderOf = (name: string) => join(folder, 'volumes', name);
  let last: Promise<unknown> = Promise.resolve();

  async function refreshAll(): Promise<string | undefined> {
    for (const volume of volumes) {
      if (volumeKind(volume) === 'empty') {
        await mkdir(folderOf(volume.name), { recursive: true });
        continue;
      }
      const content = await volumeContent(volume, sources);
      if ('missing' in content) return `MountVolume.SetUp failed for volume "${volume.name}" : ${content.missing}`;
      await writeAtomically(folderOf(volume.name), content.files, stamp());
    }
    return undefined;
  }

  return {
    folderOf,
    // One at a time: two would meet in the same folder.
    refresh() {
      const next = last.then(refreshAll, refreshAll);
      last = next;
      return next;
    },
    pathsOf({ volumeMounts = [] }, expandPath) {
      const paths = new Map<string, string>();
      for (const { name, mountPath, subPath, subPathExpr } of volumeMounts) {
        const inside = normalize(`/${subPathExpr === undefined ? (subPath ?? '') : expandPath(subPathExpr)}`);
        paths.set(mountPath.replace(/\/$/, ''), join(folderOf(name), inside).replace(/\/$/, ''));
      }
      return paths;
    },
  };
}

/** Why this node cannot provide a volume of the pod, if so. */
export function unsupportedVolume({ spec }: Pod): string | undefined {
  const volume = (spec?.volumes ?? []).find((one) => volumeKind(one) === undefined);
  return volume === undefined ? undefined : `volume ${volume.name} is of a kind that this node does not provide`;
}

export async function removeFolder(folder: string): Promise<void> {
  await rm(folder, { recursive: true, force: true });
}
