import type { Resource } from './resource.ts';

/** One version for a set of resources that does not depend on their order, kept up to date one resource at a time. */
export class VersionSum {
  #high = 0;
  #low = 0;
  #count = 0;

  add(resource: Resource): void {
    this.#change(resource, 1);
  }

  remove(resource: Resource): void {
    this.#change(resource, -1);
  }

  toString(): string {
    return `${this.#count}-${hex(this.#high)}${hex(this.#low)}`;
  }

  #change(resource: Resource, factor: 1 | -1): void {
    const version = resource.version('whole');
    const high = Number.parseInt(version.slice(0, 8), 16) + nameHash(resource.name);
    this.#high = (this.#high + factor * high) >>> 0;
    this.#low = (this.#low + factor * Number.parseInt(version.slice(8, 16), 16)) >>> 0;
    this.#count += factor;
  }
}

function hex(value: number): string {
  return value.toString(16).padStart(8, '0');
}

function nameHash(name: string): number {
  let value = 0x811c9dc5;
  for (let index = 0; index < name.length; index += 1) value = Math.imul(value ^ name.charCodeAt(index), 0x01000193);
  return value >>> 0;
}
